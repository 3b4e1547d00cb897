//! Reports of records that are made here.
