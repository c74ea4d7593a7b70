mod aggregate;
mod deadline;
mod header;
mod metro;
mod script;
mod stability;
