mod switch;
mod vectors;
