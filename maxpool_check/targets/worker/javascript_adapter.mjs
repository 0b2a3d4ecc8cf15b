// Runs ONNX Runtime in Node.js: onnxruntime-web as WebAssembly, onnxruntime-node natively.
//
// Started as `node javascript_adapter.mjs FOLDER`, where FOLDER/node_modules has the runtime. It speaks the protocol of the
// Python worker: a line of JSON in, a line out, until stdin ends; the first line out is `ready` or `failed`.

import fs from "node:fs";
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";
import readline from "node:readline";

const PROTOCOL = 1;

// "wasm" and "cpu" are names in JavaScript of this provider; both run without any other.
const CPU = "CPUExecutionProvider";

const LEVELS = {
  "optimization-off": "disabled",
  "optimization-basic": "basic",
  "optimization-extended": "extended",
  "optimization-layout": "layout",
};

const ARRAYS = {
  // Node.js has Float16Array since release 24; where it exists, ONNX Runtime takes nothing else.
  float16: globalThis.Float16Array ?? Uint16Array,
  float32: Float32Array, float64: Float64Array,
  int8: Int8Array, int16: Int16Array, int32: Int32Array, int64: BigInt64Array,
  uint8: Uint8Array, uint16: Uint16Array, uint32: Uint32Array, uint64: BigUint64Array,
  bool: Uint8Array,
};

const STATUSES = [
  "OK", "FAIL", "INVALID_ARGUMENT", "NO_SUCHFILE", "NO_MODEL", "ENGINE_ERROR", "RUNTIME_EXCEPTION", "INVALID_PROTOBUF",
  "MODEL_LOADED", "NOT_IMPLEMENTED", "INVALID_GRAPH", "EP_FAIL",
];

// An option or a provider that is not taken: nothing is wrong with the environment.
class Refused extends Error {}

class Runtime {
  constructor(folder, { distribution, provider, provider_options: options = {} }) {
    this.folder = folder;
    this.distribution = distribution;
    this.flags = options;
    this.isWeb = distribution === "onnxruntime-web";
    const known = this.isWeb ? ["simd", "threads"] : [];
    const unknown = Object.keys(options).filter((name) => !known.includes(name));
    if (unknown.length) {
      throw new Refused(`unknown option ${unknown.join(", ")}; ${distribution} has ${known.join(", ") || "none"}`);
    }
    if (![undefined, null, CPU].includes(provider)) throw new Refused(`${distribution} runs on ${CPU} only, not on ${provider}`);
    this.version = JSON.parse(fs.readFileSync(path.join(this.package, "package.json"), "utf8")).version;
    const build = this.load();
    this.description = {
      wants: "model",
      distribution,
      version: this.version,
      provider: CPU,
      providers: [CPU],
      session_options: { ...this.options(null), node: process.version, ...build },
      settings: [...Object.keys(LEVELS), ...(this.isWeb ? [] : ["default-threads"]), "twice"],
      dtypes: Object.keys(ARRAYS).filter((name) => name !== "bool"),
    };
  }

  get package() {
    return path.join(this.folder, "node_modules", this.distribution);
  }

  // Loads ONNX Runtime, or a new instance of its WebAssembly, with the build and the threads that the options name.
  load() {
    const require = createRequire(path.join(this.folder, "package.json"));
    for (const file of Object.keys(require.cache)) delete require.cache[file];
    this.ort = require(this.distribution);
    if (!this.isWeb) return {};
    const { simd = "on", threads = "1" } = this.flags;
    if (!["on", "off"].includes(simd)) throw new Refused(`simd must be on or off, got ${simd}`);
    if (!/^[1-9]\d?$/.test(threads)) throw new Refused(`threads must be a number from 1 to 99, got ${threads}`);
    const suffix = Number(threads) > 1 ? "-threaded" : "";
    if (simd === "off" && !fs.existsSync(path.join(this.package, "dist", `ort-wasm${suffix}.wasm`))) {
      throw new Refused(`onnxruntime-web ${this.version} comes with builds with SIMD alone; those without end with 1.18`);
    }
    this.ort.env.wasm.simd = simd === "on";
    this.ort.env.wasm.numThreads = Number(threads);
    return { simd, threads: Number(threads) };
  }

  options(setting) {
    return {
      executionProviders: [this.isWeb ? "wasm" : "cpu"],
      graphOptimizationLevel: LEVELS[setting] ?? "all",
      logSeverityLevel: 4,
      // In the web build, threads are those of the process.
      ...(this.isWeb || setting === "default-threads" ? {} : { intraOpNumThreads: 1, interOpNumThreads: 1 }),
    };
  }

  async run(request) {
    for (const { dtype } of Object.values(request.inputs)) {
      if (!(dtype in ARRAYS)) return { type: "unable", message: `the JavaScript API of ONNX Runtime has no ${dtype}` };
    }
    const feeds = {};
    for (const [name, tensor] of Object.entries(request.inputs)) feeds[name] = this.decode(tensor);
    let session;
    try {
      session = await this.ort.InferenceSession.create(Buffer.from(request.model, "base64"), this.options(request.setting));
      if (request.setting === "twice") await session.run(feeds, request.outputs);
      const results = await session.run(feeds, request.outputs);
      const outputs = {};
      for (const name of request.outputs) outputs[name] = encode(results[name]);
      await session.release();
      return { type: "result", provider: CPU, outputs };
    } catch (error) {
      if (error instanceof WebAssembly.RuntimeError) endAfterTrap(error);
      if (isUncaught(error)) {
        // Nothing has unwound its stack: the instance cannot be trusted any longer.
        this.load();
        return { type: "refusal", status: "C++ exception", message: `an exception of C++ that nothing catches: ${error}` };
      }
      await session?.release();
      return refusal(error);
    }
  }

  decode({ dtype, shape, data }) {
    const bytes = Buffer.from(data, "base64");
    // A copy of its own: the bytes of a small Buffer need not be aligned.
    return new this.ort.Tensor(dtype, new ARRAYS[dtype](new Uint8Array(bytes).buffer), shape);
  }
}

// The names that Linux has for the instruction sets of the tool; elsewhere they are unknown.
const INSTRUCTION_SETS = {
  "sse4.1": "sse4_1", avx: "avx", avx2: "avx2", avx512f: "avx512f", neon: "asimd", sve: "sve", float16: "asimdhp|avx512_fp16",
};

function processor() {
  const architecture = { x64: "x86_64", arm64: "aarch64" }[process.arch] ?? process.arch;
  let features = null;
  if (process.platform === "linux") {
    const listed = fs.readFileSync("/proc/cpuinfo", "utf8").match(/^(flags|Features)\s*:(.*)$/m)?.[2].split(" ");
    features = listed ? Object.keys(INSTRUCTION_SETS).filter((name) => INSTRUCTION_SETS[name].split("|").some((each) => listed.includes(each))) : null;
  }
  return { architecture, model: os.cpus()[0]?.model ?? "", features };
}

function encode({ type, dims, data }) {
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  return { dtype: type, shape: dims, data: bytes.toString("base64") };
}

// What is a signal in a native process is a trap in WebAssembly, an abort() among them: it leaves the instance in the middle
// of a function, and the process ends as a native one would.
function endAfterTrap(error) {
  fs.writeSync(2, `WebAssembly trap: ${error.message}\n`);
  process.exit(70);
}

// Builds that do not catch exceptions throw the address of one.
function isUncaught(error) {
  return typeof error === "number" || (WebAssembly.Exception !== undefined && error instanceof WebAssembly.Exception);
}

function refusal(error) {
  const message = String(error?.message ?? error);
  const coded = /ERROR_CODE: (\d+), ERROR_MESSAGE: /.exec(message);
  if (!coded) {
    // onnxruntime-node passes the message alone on; this is the one of ONNX Runtime for a node without a kernel.
    const status = /Could not find an implementation for|\bNOT_IMPLEMENTED\b/.test(message) ? "NOT_IMPLEMENTED" : error?.name;
    return { type: "refusal", status: status ?? "Error", message };
  }
  return { type: "refusal", status: STATUSES[Number(coded[1])] ?? coded[1], message: message.slice(coded.index + coded[0].length) };
}

function send(message) {
  let bytes = Buffer.from(JSON.stringify(message) + "\n");
  while (bytes.length) bytes = bytes.subarray(fs.writeSync(1, bytes));
}

// What ONNX Runtime prints must not mix with the protocol.
for (const name of ["log", "info", "debug", "warn"]) console[name] = console.error;

const lines = readline.createInterface({ input: process.stdin, crlfDelay: Infinity })[Symbol.asyncIterator]();
const start = await lines.next();
let runtime;
try {
  const { protocol, options } = JSON.parse(start.value);
  if (protocol !== PROTOCOL) throw new Error(`the worker has protocol ${PROTOCOL}, not ${protocol}`);
  runtime = new Runtime(process.argv[2], options);
} catch (error) {
  const refused = error instanceof Refused;
  send({ type: "failed", message: refused ? error.message : `${error.name}: ${error.message}`, ...(refused && { refused }) });
  process.exit(0);
}
send({ type: "ready", protocol: PROTOCOL, processor: processor(), ...runtime.description });
for (let line = await lines.next(); !line.done; line = await lines.next()) {
  // Python writes numbers of attributes that JSON does not have; only the model is used here.
  const request = JSON.parse(line.value.replace(/([:[,] ?)(-?Infinity|NaN)(?=[,\]}])/g, "$1null"));
  let outcome;
  try {
    outcome = await runtime.run(request);
  } catch (error) {
    outcome = { type: "failed", message: `${error?.name}: ${error?.message}` };
  }
  send({ id: request.id, ...outcome });
}
process.exit(0);
