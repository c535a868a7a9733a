// Part of kernels_isa.inl: add leaf values to outputs F, and compute the first and second derivatives of the loss.
// Plain arithmetic, a row per lane: the compiler makes vectors of it, and the bits are the same whatever their length.

inline constexpr float largest = 3.40282347e38f;
inline constexpr float least_hessian = 1e-16f;   // of a row: not 0, since sums are divided by
inline constexpr float least_exponent = -87.0f;  // exp of it is still a normal number

[[gnu::always_inline]] inline float at_least(float x, float low) { return x < low ? low : x; }
[[gnu::always_inline]] inline float at_most(float x, float high) { return x > high ? high : x; }
[[gnu::always_inline]] inline float size_of(float x) { return __builtin_fabsf(x); }

// Keep finite: infinity times a weight of zero is not a number.
[[gnu::always_inline]] inline float saturate(float x) { return at_least(at_most(x, largest), -largest); }

inline Double::Real read_reals(const double* from) { return load<Double::Real>(from); }
inline Double::Real read_reals(const float* from) {
  using Reals [[gnu::vector_size(vector_bytes / 2)]] = float;
  return __builtin_convertvector(load<Reals>(from), Double::Real);
}

// Eight sums side by side, whatever the length of vectors, so that their bits are the same everywhere.
template <class T>
[[gnu::always_inline]] inline double sum_lanes(const T* numbers, std::int64_t n) {
  constexpr int n_vectors = 8 / Double::lanes;
  Double::Real vectors[n_vectors]{};
  std::int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    for (int v = 0; v < n_vectors; ++v) vectors[v] += read_reals(numbers + i + v * Double::lanes);
  double sums[8];
  std::memcpy(sums, vectors, sizeof sums);
  for (; i < n; ++i) sums[i % 8] += static_cast<double>(numbers[i]);
  return ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
}

// Call derive(weight), where weight(i) is that of row i: compiled apart for rows without weights.
template <class Label, class Derive>
[[gnu::always_inline]] inline double with_weights(const LossRows<Label>& rows, Derive derive) {
  if (!rows.weights) return derive([](std::int64_t) { return 1.0f; });
  return derive([weights = rows.weights](std::int64_t i) { return weights[i]; });
}

template <class Label>
inline void move_outputs(const LossRows<Label>& rows) {
  if (!rows.leaves) return;
  float* __restrict raw = rows.raw;
  float steps[max_loss_rows];  // looked up one by one; what follows takes several rows at a time
  for (std::int64_t i = 0; i < rows.n_rows; ++i) steps[i] = rows.values[rows.leaves[i]];
  for (std::int64_t i = 0; i < rows.n_rows; ++i) raw[i] = saturate(raw[i] + steps[i]);
}

double log_loss(const LossRows<std::int8_t>& rows) {
  move_outputs(rows);
  const std::int64_t n = rows.n_rows;
  float signs[max_loss_rows], is_right[max_loss_rows];
  for (std::int64_t i = 0; i < n; ++i) signs[i] = rows.labels[i] > 0 ? 1.0f : -1.0f;
  return with_weights(rows, [&](auto weight) {
    const float* raw = rows.raw;
    float* __restrict gradients = rows.gradients, * __restrict hessians = rows.hessians;
    for (std::int64_t i = 0; i < n; ++i) {
      const float margin = signs[i] * raw[i];
      const float e = exp_single(at_least(-size_of(margin), least_exponent));
      const float likely = 1.0f / (1.0f + e), unlikely = e * likely;  // the probabilities of the two classes
      gradients[i] = -signs[i] * weight(i) * (margin >= 0.0f ? unlikely : likely);
      hessians[i] = weight(i) * at_least(likely * unlikely, least_hessian);
      const float predicted = raw[i] >= 0.0f ? 1.0f : -1.0f;
      is_right[i] = predicted == signs[i] ? weight(i) : 0.0f;
    }
    return sum_lanes(is_right, n);
  });
}

// Write rows as columns: number [i][k] to [k][i]. Blocks of four by four are exchanged in registers.
inline void transpose(const float* from, std::int64_t n_rows, std::int64_t n_columns, std::int64_t stride,
                      float* __restrict to, std::int64_t to_stride) {
  using Four [[gnu::vector_size(16)]] = float;
  const std::int64_t whole_rows = n_rows / 4 * 4, whole_columns = n_columns / 4 * 4;
  for (std::int64_t i = 0; i < whole_rows; i += 4) {
    for (std::int64_t k = 0; k < whole_columns; k += 4) {
      const float* block = from + i * stride + k;
      const Four a = load<Four>(block), b = load<Four>(block + stride);
      const Four c = load<Four>(block + 2 * stride), d = load<Four>(block + 3 * stride);
      const Four ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5),
                 ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
      const Four cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5),
                 cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
      const Four columns[]{
          __builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5), __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7),
          __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5), __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7)};
      for (int j = 0; j < 4; ++j) std::memcpy(to + (k + j) * to_stride + i, &columns[j], sizeof(Four));
    }
    for (std::int64_t k = whole_columns; k < n_columns; ++k)
      for (std::int64_t j = i; j < i + 4; ++j) to[k * to_stride + j] = from[j * stride + k];
  }
  for (std::int64_t i = whole_rows; i < n_rows; ++i)
    for (std::int64_t k = 0; k < n_columns; ++k) to[k * to_stride + i] = from[i * stride + k];
}

// Add leaf values to F of up to softmax_rows rows, and copy F with the rows of an output side by side:
// tile[output][row].
inline void load_tile(const LossRows<std::uint16_t>& rows, std::int64_t first, std::int64_t n, float* __restrict tile) {
  const std::int64_t n_outputs = rows.n_outputs;
  for (std::int64_t i = 0; i < n; ++i) {
    float* __restrict raw = rows.raw + (first + i) * n_outputs;
    if (rows.leaves) {
      const float* values = rows.values + rows.leaves[first + i] * n_outputs;
      for (std::int64_t k = 0; k < n_outputs; ++k) raw[k] = saturate(raw[k] + values[k]);
    }
  }
  transpose(rows.raw + first * n_outputs, n, n_outputs, n_outputs, tile, softmax_rows);
}

// Turn a tile of F into probabilities, and write which is the largest of each row.
inline void compute_probabilities(float* __restrict tile, std::int64_t n_outputs, std::int32_t* __restrict winners) {
  float most[softmax_rows], sums[softmax_rows]{};
  for (int i = 0; i < softmax_rows; ++i) most[i] = tile[i], winners[i] = 0;
  for (std::int64_t k = 1; k < n_outputs; ++k) {
    const float* raw = tile + k * softmax_rows;
    for (int i = 0; i < softmax_rows; ++i) {
      winners[i] = raw[i] > most[i] ? static_cast<std::int32_t>(k) : winners[i];
      most[i] = raw[i] > most[i] ? raw[i] : most[i];
    }
  }
  for (std::int64_t k = 0; k < n_outputs; ++k) {
    float* __restrict of_output = tile + k * softmax_rows;
    for (int i = 0; i < softmax_rows; ++i) {
      of_output[i] = exp_single(at_least(of_output[i] - most[i], least_exponent));
      sums[i] += of_output[i];
    }
  }
  for (float& sum : sums) sum = 1.0f / sum;
  for (std::int64_t k = 0; k < n_outputs; ++k)
    for (int i = 0; i < softmax_rows; ++i) tile[k * softmax_rows + i] *= sums[i];
}

double softmax(const LossRows<std::uint16_t>& rows) {
  const std::int64_t n_outputs = rows.n_outputs, size = n_outputs * softmax_rows;
  float* __restrict tile = rows.scratch, * __restrict gradients = tile + size, * __restrict hessians = gradients + size;
  for (std::int64_t i = 0; i < size; ++i) tile[i] = 0.0f;
  float is_right[max_loss_rows];
  for (std::int64_t first = 0; first < rows.n_rows; first += softmax_rows) {
    const std::int64_t n = rows.n_rows - first < softmax_rows ? rows.n_rows - first : softmax_rows;
    std::int32_t winners[softmax_rows], labels[softmax_rows]{};
    float weights[softmax_rows]{};
    for (std::int64_t i = 0; i < n; ++i) labels[i] = rows.labels[first + i];
    for (std::int64_t i = 0; i < n; ++i) weights[i] = rows.weights ? rows.weights[first + i] : 1.0f;
    load_tile(rows, first, n, tile);
    compute_probabilities(tile, n_outputs, winners);
    for (std::int64_t k = 0; k < n_outputs; ++k) {
      const auto output = static_cast<std::int32_t>(k);  // as long as a float: lanes compare side by side
      for (int i = 0; i < softmax_rows; ++i) {
        const float p = tile[k * softmax_rows + i];
        gradients[k * softmax_rows + i] = weights[i] * (p - (labels[i] == output ? 1.0f : 0.0f));
        hessians[k * softmax_rows + i] = weights[i] * at_least(p * (1.0f - p), least_hessian);
      }
    }
    transpose(gradients, n_outputs, n, softmax_rows, rows.gradients + first * n_outputs, n_outputs);
    transpose(hessians, n_outputs, n, softmax_rows, rows.hessians + first * n_outputs, n_outputs);
    for (std::int64_t i = 0; i < n; ++i) is_right[first + i] = winners[i] == labels[i] ? weights[i] : 0.0f;
  }
  return sum_lanes(is_right, rows.n_rows);
}

struct Derived {
  float prediction, gradient, hessian;
};

template <ValueLoss loss>
[[gnu::always_inline]] inline Derived derive(float raw, float label, float parameter) {
  const float rest = saturate(raw - label);
  if constexpr (loss == ValueLoss::squared) return {raw, rest, 1.0f};
  if constexpr (loss == ValueLoss::absolute) return {raw, rest > 0.0f ? 1.0f : (rest < 0.0f ? -1.0f : 0.0f), 1.0f};
  if constexpr (loss == ValueLoss::quantile)
    return {raw, rest > 0.0f ? 1.0f - parameter : (rest < 0.0f ? -parameter : 0.0f), 1.0f};
  if constexpr (loss == ValueLoss::huber)
    return {raw, at_least(at_most(rest, parameter), -parameter), at_most(parameter / size_of(rest), 1.0f)};
  const float log_mean = at_least(at_most(raw, 80.0f), -80.0f);  // exp stays finite, with room for a sum
  const float mean = exp_single(log_mean);
  if constexpr (loss == ValueLoss::poisson) return {mean, saturate(mean - label), mean};
  const float ratio = saturate(label * exp_single(-log_mean));
  return {mean, 1.0f - ratio, ratio};
}

template <ValueLoss loss>
double derive_values(const LossRows<float>& rows) {
  move_outputs(rows);
  return with_weights(rows, [&](auto weight) {
    const float *raw = rows.raw, *labels = rows.labels;
    float* __restrict gradients = rows.gradients, * __restrict hessians = rows.hessians;
    float predictions[max_loss_rows];
    const float parameter = rows.parameter;
    for (std::int64_t i = 0; i < rows.n_rows; ++i) {
      const auto [prediction, gradient, hessian] = derive<loss>(raw[i], labels[i], parameter);
      gradients[i] = weight(i) * gradient;
      hessians[i] = weight(i) * at_least(hessian, least_hessian);
      predictions[i] = prediction;
    }
    double squares[max_loss_rows];
    for (std::int64_t i = 0; i < rows.n_rows; ++i) {
      const double error = static_cast<double>(predictions[i]) - static_cast<double>(labels[i]);
      squares[i] = static_cast<double>(weight(i)) * (error * error);
    }
    return sum_lanes(squares, rows.n_rows);
  });
}

double value_loss(ValueLoss loss, const LossRows<float>& rows) {
  switch (loss) {
    case ValueLoss::squared: return derive_values<ValueLoss::squared>(rows);
    case ValueLoss::absolute: return derive_values<ValueLoss::absolute>(rows);
    case ValueLoss::quantile: return derive_values<ValueLoss::quantile>(rows);
    case ValueLoss::huber: return derive_values<ValueLoss::huber>(rows);
    case ValueLoss::poisson: return derive_values<ValueLoss::poisson>(rows);
    case ValueLoss::gamma: return derive_values<ValueLoss::gamma>(rows);
  }
  return 0.0;
}

// Write the sums of square(i) over the outputs of each row.
template <class Square>
[[gnu::always_inline]] inline void add_squares(const GradientRows& rows, float* __restrict sizes, Square square) {
  if (rows.n_outputs == 1) {
    for (std::int64_t i = 0; i < rows.n_rows; ++i) sizes[i] = square(i);
    return;
  }
  for (std::int64_t i = 0; i < rows.n_rows; ++i) {
    float sum = 0.0f;
    for (std::int64_t k = 0; k < rows.n_outputs; ++k) sum += square(i * rows.n_outputs + k);
    sizes[i] = sum;
  }
}

// Squares of gradients beyond 1.8e19 overflow: where there are any, all such gradients count as equally large.
void gradient_sizes(const GradientRows& rows, float* __restrict sizes) {
  const float *gradients = rows.gradients, *hessians = rows.hessians;
  const float smoothing = rows.smoothing;
  if (smoothing == 0.0f && rows.n_outputs == 1) {
    for (std::int64_t i = 0; i < rows.n_rows; ++i) sizes[i] = size_of(gradients[i]);
    return;
  }
  if (smoothing == 0.0f)  // hessians need not be read
    add_squares(rows, sizes, [=](std::int64_t i) { return gradients[i] * gradients[i]; });
  else
    add_squares(rows, sizes,
                [=](std::int64_t i) { return gradients[i] * gradients[i] + smoothing * (hessians[i] * hessians[i]); });
  for (std::int64_t i = 0; i < rows.n_rows; ++i) sizes[i] = __builtin_sqrtf(at_most(sizes[i], largest));
}

void sum_blocks(const float* numbers, std::int64_t n_blocks, double* __restrict sums) {
  for (std::int64_t block = 0; block < n_blocks; ++block, numbers += summed_rows)
    sums[block] = sum_lanes(numbers, summed_rows);
}
