mod aggregate;
mod deadline;
mod header;
mod hostile;
mod metro;
mod script;
mod stability;
