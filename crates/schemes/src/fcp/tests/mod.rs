mod aggregate;
mod deadline;
mod domain;
mod header;
mod hostile;
mod metro;
mod script;
mod stability;
