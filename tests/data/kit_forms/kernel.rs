#[path = "kit/rust/maxpool_kit.rs"]
mod maxpool_kit;

use maxpool_kit::{Answer, Attribute, Vector};

// MaxPool of float32 over two axes.
fn max_pool(vector: &Vector, x: &[u8], with_indices: bool) -> Answer {
    let Some(axes) = vector.axes else { return Answer::Refused };
    let &[rows, columns] = axes else { return Answer::Unable };
    if vector.dtype != "float32" {
        return Answer::Unable;
    }
    let mut attributes = vector.attributes.iter();
    let by_columns = attributes.any(|(name, value)| *name == "storage_order" && matches!(value, Attribute::Integer(1)));
    let x: Vec<f32> = x.chunks(4).map(|cell| f32::from_le_bytes(cell.try_into().unwrap())).collect();
    let [height, width] = [rows[0], columns[0]];
    let (mut y, mut indices) = (vec![], vec![]);
    for plane in 0..(vector.shape[0] * vector.shape[1]) as i64 {
        for i in 0..rows[6] {
            for j in 0..columns[6] {
                let (mut best, mut index) = (f32::NEG_INFINITY, -1);
                for row in taps(rows, i) {
                    for column in taps(columns, j) {
                        let cell = (plane * height + row) * width + column;
                        let value = x[cell as usize];
                        if index < 0 || value > best {
                            best = value;
                            index = if by_columns { (plane * width + column) * height + row } else { cell };
                        }
                    }
                }
                y.extend(best.to_le_bytes());
                indices.push(index);
            }
        }
    }
    Answer::Computed(y, if with_indices { indices } else { vec![] })
}

// The cells of X in a window of an axis.
fn taps([size, kernel, stride, dilation, before, ..]: [i64; 7], window: i64) -> impl Iterator<Item = i64> {
    (0..kernel).map(move |tap| window * stride - before + tap * dilation).filter(move |cell| (0..size).contains(cell))
}
