mod endings;
mod faults;
mod figures;
mod load;
mod random_programs;
mod reduction;
mod simulation;
mod witnesses;
