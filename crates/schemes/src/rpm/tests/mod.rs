mod registers;
mod switch;
mod vectors;
