// Runs an ONNX model with ONNX Runtime in Node.js: node run.mjs onnxruntime-web model.onnx, with its inputs on stdin.
import fs from "node:fs";

const ort = await import(process.argv[2]);
if (process.argv[2] === "onnxruntime-web") ort.env.wasm.numThreads = 1;

const ARRAYS = {
  float16: globalThis.Float16Array ?? Uint16Array, float32: Float32Array, float64: Float64Array, bool: Uint8Array,
  int8: Int8Array, int16: Int16Array, int32: Int32Array, int64: BigInt64Array,
  uint8: Uint8Array, uint16: Uint16Array, uint32: Uint32Array, uint64: BigUint64Array,
};

const { level, inputs } = JSON.parse(fs.readFileSync(0));
const feeds = {};
for (const [name, [type, shape, data]] of Object.entries(inputs)) {
  feeds[name] = new ort.Tensor(type, new ARRAYS[type](new Uint8Array(Buffer.from(data, "base64")).buffer), shape);
}
const levels = { ORT_DISABLE_ALL: "disabled", ORT_ENABLE_BASIC: "basic", ORT_ENABLE_EXTENDED: "extended", ORT_ENABLE_LAYOUT: "layout" };
const session = await ort.InferenceSession.create(fs.readFileSync(process.argv[3]), {
  executionProviders: [process.argv[2] === "onnxruntime-web" ? "wasm" : "cpu"],
  graphOptimizationLevel: levels[level] ?? "all",
});
const results = await session.run(feeds);
const outputs = session.outputNames.map((name) => {
  const { type, dims, data } = results[name];
  return [type, dims, Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString("base64")];
});
fs.writeSync(1, JSON.stringify(outputs));
process.exit(0);
