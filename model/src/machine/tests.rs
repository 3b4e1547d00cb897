mod build;
mod faults;
mod figures;
mod random_programs;
mod reduction;
mod simulation;
