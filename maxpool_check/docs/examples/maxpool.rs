// A kernel behind the protocol of maxpool-check: MaxPool of float32 over two axes. For your own, change pool().
// rustc -O --edition 2021 maxpool.rs && maxpool-check run corpus:kit -t "command:./maxpool"
use std::io::{stdin, BufRead};

const READY: &str = r#"{"type": "ready", "protocol": 1, "distribution": "example-rust", "version": "1.0", "dtypes": ["float32"],
 "spatial": [2], "indices": "plane"}"#;
const BASE64: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

struct Axis { size: i64, kernel: i64, stride: i64, dilation: i64, begin: i64, windows: i64 }

// What follows a key: one blank follows each colon.
fn value<'a>(json: &'a str, key: &str) -> &'a str {
    json.split_once(&format!("\"{key}\": ")).map_or("", |(_, rest)| rest)
}

// A list of N integers; None for anything else.
fn list<const N: usize>(json: &str, key: &str) -> Option<[i64; N]> {
    let (items, _) = value(json, key).strip_prefix('[')?.split_once(']')?;
    let numbers: Vec<i64> = items.split(", ").map(str::parse).collect::<Result<_, _>>().ok()?;
    numbers.try_into().ok()
}

// Both axes, unless the request must be refused.
fn axes(request: &str, shape: &[i64; 4]) -> Option<Vec<Axis>> {
    let (attributes, _) = value(request, "attributes").split_once('}')?;
    let [kernel, strides, dilations]: [[i64; 2]; 3] = [list(attributes, "kernel_shape")?, list(attributes, "strides")?, list(attributes, "dilations")?];
    let pads: [i64; 4] = list(attributes, "pads")?;
    let axis = |a: usize| {
        let (size, kernel, stride, dilation, begin) = (shape[2 + a], kernel[a], strides[a], dilations[a], pads[a]);
        let room = size + begin + pads[2 + a] - dilation * (kernel - 1) - 1;
        let is_valid = kernel.min(stride).min(dilation) > 0 && begin.min(pads[2 + a]).min(room) >= 0;
        is_valid.then(|| Axis { size, kernel, stride, dilation, begin, windows: room / stride + 1 })
    };
    let has_all = attributes.matches("\": ").count() == 7;
    (0..2).map(axis).collect::<Option<_>>().filter(|_| has_all)
}

fn pool(x: &[f32], planes: i64, r: &Axis, c: &Axis) -> (Vec<f32>, Vec<i64>) {
    let outputs = planes * r.windows * c.windows;
    (0..outputs).map(|y| {
        let plane = y / (r.windows * c.windows) * r.size * c.size;
        let (top, left) = (y / c.windows % r.windows * r.stride - r.begin, y % c.windows * c.stride - c.begin);
        let (mut best, mut index) = (0.0, -1);
        for h in (0..r.kernel).map(|i| top + i * r.dilation).filter(|h| (0..r.size).contains(h)) {
            for w in (0..c.kernel).map(|j| left + j * c.dilation).filter(|w| (0..c.size).contains(w)) {
                let value = x[(plane + h * c.size + w) as usize];
                if index < 0 || value > best { (best, index) = (value, h * c.size + w); }
            }
        }
        (best, index)
    }).unzip()
}

fn decode(base64: &str) -> Vec<f32> {
    let (mut bits, mut bytes, mut count) = (0u32, vec![], 0);
    for digit in base64.bytes().map_while(|c| BASE64.iter().position(|d| *d == c)) {
        (bits, count) = (bits << 6 | digit as u32, count + 6);
        if count >= 8 { count -= 8; bytes.push((bits >> count) as u8); }
    }
    bytes.chunks(4).map(|cell| f32::from_le_bytes(cell.try_into().unwrap())).collect()
}

fn tensor<const N: usize>(dtype: &str, shape: &[i64; 4], cells: impl Iterator<Item = [u8; N]>) -> String {
    let hex: String = cells.flatten().map(|byte| format!("{byte:02x}")).collect();
    format!(r#"{{"dtype": "{dtype}", "shape": {shape:?}, "hex": "{hex}"}}"#)
}

fn respond(request: &str) -> String {
    let is_plain = value(request, "auto_pad").starts_with("\"NOTSET\"") && ["ceil_mode", "storage_order"].iter().all(|name| {
        value(request, name).starts_with(['0']) });
    if !is_plain {
        return r#""type": "unable", "message": "explicit pads, rounded down, counted row by row, and nothing else""#.into();
    }
    let shape: [i64; 4] = list(request, "shape").unwrap();
    let Some([r, c]) = axes(request, &shape).and_then(|axes| <[Axis; 2]>::try_from(axes).ok()) else {
        return r#""type": "refusal", "status": "INVALID_ARGUMENT", "message": "no such MaxPool""#.into();
    };
    let (y, indices) = pool(&decode(&value(request, "data")[1..]), shape[0] * shape[1], &r, &c);
    let shape = [shape[0], shape[1], r.windows, c.windows];
    let y = tensor("float32", &shape, y.into_iter().map(f32::to_le_bytes));
    let indices = tensor("int64", &shape, indices.into_iter().map(i64::to_le_bytes));
    format!(r#""type": "result", "outputs": {{"Y": {y}, "Indices": {indices}}}"#)
}

fn main() {
    let mut lines = stdin().lock().lines().map_while(Result::ok);
    lines.next();
    println!("{}", READY.replace('\n', ""));
    for request in lines {
        let (id, _) = value(&request, "id").split_once(',').unwrap();
        println!("{{\"id\": {id}, {}}}", respond(&request));
    }
}
