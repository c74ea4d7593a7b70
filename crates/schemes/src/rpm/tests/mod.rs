mod p4;
mod registers;
mod switch;
mod vectors;
