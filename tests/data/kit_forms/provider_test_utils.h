// What tests of ONNX Runtime call, and a MaxPool to call it with. MLFloat16 and BFloat16 hold their values as float.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

namespace onnxruntime {

template <int bits>
struct Short {
  explicit Short(float value) : value(value) {}
  operator double() const { return value; }
  float value;
};
using MLFloat16 = Short<11>;
using BFloat16 = Short<8>;

namespace test {

using Integers = std::vector<int64_t>;
struct Tensor {
  Integers shape;
  std::vector<double> cells;
};

class OpTester {
 public:
  enum class ExpectResult { kExpectSuccess, kExpectFailure };

  OpTester(const char*, int) {}
  void AddAttribute(const std::string& name, const Integers& values) { lists_[name] = values; }
  void AddAttribute(const std::string& name, int64_t value) { integers_[name] = value; }
  void AddAttribute(const std::string& name, const std::string& text) { texts_[name] = text; }
  void AddShapeToTensorData(bool) {}
  void SetOutputTolerance(float absolute, float relative) { EXPECT_EQ(absolute + relative, 0); }

  template <typename T>
  void AddInput(const char*, std::initializer_list<int64_t> shape, std::initializer_list<T> cells) {
    X_ = {shape, {cells.begin(), cells.end()}};
    has_type_ = !std::is_integral<T>::value || sizeof(T) == 1;
  }

  template <typename T>
  void AddOutput(const char* name, std::initializer_list<int64_t> shape, std::initializer_list<T> cells) {
    outputs_[name] = {shape, {cells.begin(), cells.end()}};
  }

  void Run(ExpectResult expected = ExpectResult::kExpectSuccess) {
    const bool is_computed = Compute();
    ASSERT_EQ(is_computed, expected == ExpectResult::kExpectSuccess);
    if (!is_computed) return;
    for (const auto& [name, wanted] : outputs_) {
      const Tensor& got = name == "Y" ? Y_ : Indices_;
      ASSERT_EQ(got.shape, wanted.shape) << name;
      ASSERT_EQ(got.cells.size(), wanted.cells.size()) << name;
      for (size_t i = 0; i < got.cells.size(); i++)
        EXPECT_TRUE(got.cells[i] == wanted.cells[i] || (std::isnan(got.cells[i]) && std::isnan(wanted.cells[i])))
            << name << "[" << i << "] is " << got.cells[i] << ", not " << wanted.cells[i];
    }
  }

 private:
  Integers List(const char* name, size_t count, int64_t value) const {
    const auto found = lists_.find(name);
    return found == lists_.end() ? Integers(count, value) : found->second;
  }

  int64_t Integer(const char* name) const { return integers_.count(name) ? integers_.at(name) : 0; }

  // Whether X and the attributes have a meaning.
  bool IsValid(size_t axes) const {
    const std::set<std::string> lists = {"kernel_shape", "strides", "dilations", "pads"};
    for (const auto& [name, values] : lists_) {
      if (!lists.count(name) || values.size() != (name == "pads" ? 2 * axes : axes)) return false;
      for (const int64_t value : values)
        if (value < (name == "pads" ? 0 : 1)) return false;
    }
    for (const auto& [name, value] : integers_)
      if ((name != "ceil_mode" && name != "storage_order") || value < 0 || value > 1) return false;
    const std::set<std::string> ways = {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"};
    for (const auto& [name, text] : texts_)
      if (name != "auto_pad" || !ways.count(text)) return false;
    return has_type_ && axes > 0 && lists_.count("kernel_shape");
  }

  bool Compute() {
    const size_t rank = X_.shape.size(), axes = rank < 2 ? 0 : rank - 2;
    if (!IsValid(axes)) return false;
    const Integers kernel = List("kernel_shape", axes, 1), strides = List("strides", axes, 1);
    const Integers dilations = List("dilations", axes, 1);
    const std::string auto_pad = texts_.count("auto_pad") ? texts_.at("auto_pad") : "NOTSET";
    Integers pads = auto_pad == "NOTSET" ? List("pads", 2 * axes, 0) : Integers(2 * axes, 0);
    Y_ = {Integers(X_.shape.begin(), X_.shape.begin() + 2), {}};
    for (size_t a = 0; a < axes; a++) {
      const int64_t size = X_.shape[a + 2], last = (kernel[a] - 1) * dilations[a];
      if (auto_pad.substr(0, 4) == "SAME") {
        const int64_t windows = (size - 1) / strides[a] + 1;
        const int64_t total = std::max<int64_t>((windows - 1) * strides[a] + last + 1 - size, 0);
        pads[a] = auto_pad == "SAME_LOWER" ? total - total / 2 : total / 2;
        pads[axes + a] = total - pads[a];
      }
      const int64_t room = size + pads[a] + pads[axes + a] - last - 1;
      if (room < 0) return false;
      int64_t windows = room / strides[a] + 1;
      if (auto_pad == "NOTSET" && Integer("ceil_mode") && room % strides[a] && windows * strides[a] < size + pads[a]) windows++;
      Y_.shape.push_back(windows);
    }
    Indices_ = {Y_.shape, {}};
    for (Integers at(rank, 0); Inside(at, Y_.shape); Next(at, Y_.shape)) {
      double best = 0;
      int64_t index = -1;
      for (Integers tap(axes, 0); Inside(tap, kernel); Next(tap, kernel)) {
        Integers cell = at;
        bool is_inside = true;
        for (size_t a = 0; a < axes; a++) {
          cell[a + 2] = at[a + 2] * strides[a] - pads[a] + tap[a] * dilations[a];
          is_inside = is_inside && cell[a + 2] >= 0 && cell[a + 2] < X_.shape[a + 2];
        }
        if (!is_inside) continue;
        const double value = X_.cells[Position(cell, false)];
        if (index >= 0 && !(value > best)) continue;
        best = value;
        index = Position(cell, Integer("storage_order"));
      }
      Y_.cells.push_back(best);
      Indices_.cells.push_back(double(index));
    }
    return true;
  }

  // Whether all positions are below the sizes; the last position ends at the first size, unless a size is 0.
  static bool Inside(const Integers& at, const Integers& sizes) {
    for (size_t a = 0; a < at.size(); a++)
      if (at[a] >= sizes[a]) return false;
    return true;
  }

  static void Next(Integers& at, const Integers& sizes) {
    for (size_t a = at.size(); a-- > 0;) {
      if (++at[a] < sizes[a] || a == 0) return;
      at[a] = 0;
    }
  }

  // The number of a cell of X: the last axis counts fastest, or with by_columns the first spatial one.
  int64_t Position(const Integers& cell, bool by_columns) const {
    int64_t position = cell[0] * X_.shape[1] + cell[1];
    const size_t axes = cell.size() - 2;
    for (size_t i = 0; i < axes; i++) {
      const size_t a = by_columns ? axes + 1 - i : i + 2;
      position = position * X_.shape[a] + cell[a];
    }
    return position;
  }

  std::map<std::string, Integers> lists_;
  std::map<std::string, int64_t> integers_;
  std::map<std::string, std::string> texts_;
  Tensor X_, Y_, Indices_;
  std::map<std::string, Tensor> outputs_;
  bool has_type_ = true;
};

}  // namespace test
}  // namespace onnxruntime
