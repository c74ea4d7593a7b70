mod header;
mod metro;
mod script;
mod stability;
