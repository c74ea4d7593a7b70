mod header;
mod script;
mod stability;
