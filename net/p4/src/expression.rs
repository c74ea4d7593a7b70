//! Expressions of bmv2: integers without end, which fields cut to their width when they take them.

use crate::load::{Error, Names};
use crate::machine::Packet;
use serde_json::Value;

/// An expression with its names resolved. Booleans are 0 and 1.
#[derive(Debug, Clone)]
pub enum Expression {
    Constant(i128),
    /// A field, by its number among all fields.
    Field(usize),
    /// Whether a header is valid.
    Valid(usize),
    /// An argument of the action.
    Argument(usize),
    Not(Box<Expression>),
    /// Every bit, of an integer without end.
    Complement(Box<Expression>),
    Binary(Operator, Box<Expression>, Box<Expression>),
    Choice(Box<[Expression; 3]>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    Add,
    Subtract,
    Multiply,
    ShiftLeft,
    ShiftRight,
    And,
    Or,
    Xor,
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Both,
    Either,
}

/// A number as bmv2 writes it.
pub fn number(text: &str) -> Result<i128, Error> {
    let (negative, digits) = text.strip_prefix('-').map_or((false, text), |t| (true, t));
    let digits = digits.strip_prefix("0x").unwrap_or(digits);
    let value = i128::from_str_radix(digits, 16).map_err(|_| Error::Unknown(format!("number {text}")))?;
    Ok(if negative { -value } else { value })
}

fn operator(name: &str) -> Option<Operator> {
    Some(match name {
        "+" => Operator::Add,
        "-" => Operator::Subtract,
        "*" => Operator::Multiply,
        "<<" => Operator::ShiftLeft,
        ">>" => Operator::ShiftRight,
        "&" => Operator::And,
        "|" => Operator::Or,
        "^" => Operator::Xor,
        "==" => Operator::Equal,
        "!=" => Operator::Unequal,
        "<" => Operator::Less,
        "<=" => Operator::LessOrEqual,
        ">" => Operator::Greater,
        ">=" => Operator::GreaterOrEqual,
        "and" => Operator::Both,
        "or" => Operator::Either,
        _ => return None,
    })
}

/// Reads a typed value.
pub fn typed(kind: &str, value: &Value, names: &Names) -> Result<Expression, Error> {
    let unknown = || Error::Unknown(format!("{kind} {value}"));
    match kind {
        "hexstr" => Ok(Expression::Constant(number(value.as_str().ok_or_else(unknown)?)?)),
        "bool" => Ok(Expression::Constant(i128::from(value.as_bool().ok_or_else(unknown)?))),
        "field" => {
            let pair = (value.get(0).and_then(Value::as_str), value.get(1).and_then(Value::as_str));
            let (Some(header), Some(field)) = pair else { return Err(unknown()) };
            if field == "$valid$" { Ok(Expression::Valid(names.header(header)?)) } else { names.field(header, field) }
        }
        "runtime_data" | "local" => {
            Ok(Expression::Argument(value.as_u64().and_then(|i| usize::try_from(i).ok()).ok_or_else(unknown)?))
        }
        // An expression may be wrapped in another.
        "expression" if value.get("op").is_none() => any(value, names),
        "expression" => operation(value, names),
        _ => Err(unknown()),
    }
}

/// Reads an object with `type` and `value`.
fn any(object: &Value, names: &Names) -> Result<Expression, Error> {
    let kind = object.get("type").and_then(Value::as_str);
    match (kind, object.get("value")) {
        (Some(kind), Some(value)) => typed(kind, value, names),
        _ => Err(Error::Unknown(format!("value {object}"))),
    }
}

fn operation(value: &Value, names: &Names) -> Result<Expression, Error> {
    let op = value["op"].as_str().unwrap_or_default();
    let side = |name: &str| any(&value[name], names).map(Box::new);
    match op {
        "not" => Ok(Expression::Not(side("right")?)),
        "~" => Ok(Expression::Complement(side("right")?)),
        // Booleans are 0 and 1 here; what is not 0 is true.
        "d2b" => Ok(Expression::Binary(Operator::Unequal, side("right")?, Box::new(Expression::Constant(0)))),
        "b2d" => Ok(*side("right")?),
        "?" => Ok(Expression::Choice(Box::new([*side("cond")?, *side("left")?, *side("right")?]))),
        _ => match operator(op) {
            Some(operator) => Ok(Expression::Binary(operator, side("left")?, side("right")?)),
            None => Err(Error::Unknown(format!("operator {op}"))),
        },
    }
}

impl Expression {
    /// Its value. Integers here end at 127 bits; what does not fit is an error, never another number.
    pub fn value(&self, packet: &Packet, arguments: &[u128]) -> Result<i128, Error> {
        let wide = || Error::Overflow(format!("{self:?}"));
        Ok(match self {
            Expression::Constant(value) => *value,
            Expression::Field(at) => i128::try_from(packet.fields[*at]).map_err(|_| wide())?,
            Expression::Valid(header) => i128::from(packet.valid[*header]),
            Expression::Argument(at) => {
                let argument = arguments.get(*at).copied().ok_or_else(|| Error::Unknown(format!("argument {at}")))?;
                i128::try_from(argument).map_err(|_| wide())?
            }
            Expression::Not(of) => i128::from(of.value(packet, arguments)? == 0),
            Expression::Complement(of) => !of.value(packet, arguments)?,
            Expression::Choice(parts) => {
                let [condition, yes, no] = parts.as_ref();
                let taken = if condition.value(packet, arguments)? != 0 { yes } else { no };
                taken.value(packet, arguments)?
            }
            Expression::Binary(Operator::Both, left, right) => {
                i128::from(left.value(packet, arguments)? != 0 && right.value(packet, arguments)? != 0)
            }
            Expression::Binary(Operator::Either, left, right) => {
                i128::from(left.value(packet, arguments)? != 0 || right.value(packet, arguments)? != 0)
            }
            Expression::Binary(operator, left, right) => {
                applied(*operator, left.value(packet, arguments)?, right.value(packet, arguments)?).ok_or_else(wide)?
            }
        })
    }
}

/// `None` where the result has no room.
fn applied(operator: Operator, left: i128, right: i128) -> Option<i128> {
    Some(match operator {
        Operator::Add => left.checked_add(right)?,
        Operator::Subtract => left.checked_sub(right)?,
        Operator::Multiply => left.checked_mul(right)?,
        Operator::ShiftLeft => {
            let by = u32::try_from(right).ok()?;
            let shifted = left.checked_shl(by)?;
            (shifted >> by == left).then_some(shifted)?
        }
        Operator::ShiftRight => left >> u32::try_from(right).ok()?.min(127),
        Operator::And => left & right,
        Operator::Or => left | right,
        Operator::Xor => left ^ right,
        Operator::Equal => i128::from(left == right),
        Operator::Unequal => i128::from(left != right),
        Operator::Less => i128::from(left < right),
        Operator::LessOrEqual => i128::from(left <= right),
        Operator::Greater => i128::from(left > right),
        Operator::GreaterOrEqual => i128::from(left >= right),
        Operator::Both => i128::from(left != 0 && right != 0),
        Operator::Either => i128::from(left != 0 || right != 0),
    })
}
