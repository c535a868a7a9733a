// Part of kernels_isa.inl: the codes of values, which are the numbers of edges below them.

template <class V>
struct CodeLanes;
template <>
struct CodeLanes<float> : Single {};
template <>
struct CodeLanes<double> : Double {};

// Count the edges of a block below a value.
#ifdef __AVX2__
inline int count_below(const float* edges, float value) {
  const __m256 v = _mm256_set1_ps(value);
  const auto compare = [&](int i) {
    return _mm256_castps_si256(_mm256_cmp_ps(_mm256_load_ps(edges + i), v, _CMP_LT_OQ));
  };
  const __m256i is_below = _mm256_packs_epi32(compare(0), compare(8));
  return __builtin_popcount(static_cast<unsigned>(_mm256_movemask_epi8(is_below))) / 2;
}
inline int count_below(const double* edges, double value) {
  const __m256d v = _mm256_set1_pd(value);
  const auto compare = [&](int i) {
    return _mm256_castpd_si256(_mm256_cmp_pd(_mm256_load_pd(edges + i), v, _CMP_LT_OQ));
  };
  const __m256i low = _mm256_packs_epi32(compare(0), compare(4)), high = _mm256_packs_epi32(compare(8), compare(12));
  return __builtin_popcount(static_cast<unsigned>(_mm256_movemask_epi8(_mm256_packs_epi16(low, high)))) / 2;
}
#else
template <class V>
inline int count_below(const V* edges, V value) {
  using Lanes = CodeLanes<V>;
  typename Lanes::Int count{};
  for (int i = 0; i < edge_block; i += Lanes::lanes)
    count -= reinterpret_cast<typename Lanes::Int>(load<typename Lanes::Real>(edges + i) < value);
  int sum = 0;
  for (int i = 0; i < Lanes::lanes; ++i) sum += static_cast<int>(count[i]);
  return sum;
}
#endif

// Several values side by side are compared with all edges, one after the other.
template <class V>
bool find_codes_of_few_edges(const EdgeTable<V>& table, const V* values, int n_values, std::uint8_t* codes) {
  using Lanes = CodeLanes<V>;
  using Int = typename Lanes::Int;
  alignas(vector_bytes) decltype(Int{}[0] + 0) wide[block_rows];
  Int any_missing{};
  for (int i = 0; i < n_values; i += Lanes::lanes) {
    const auto v = load<typename Lanes::Real>(values + i);
    const auto is_missing = reinterpret_cast<Int>(v != v);
    Int code{};
    for (int k = 0; k < table.n_edges; ++k) code -= reinterpret_cast<Int>(table.edges[k] < v);
    any_missing |= is_missing;
    code |= is_missing;  // missing_code has all bits
    std::memcpy(wide + i, &code, sizeof code);
  }
  for (int i = 0; i < n_values; ++i) codes[i] = static_cast<std::uint8_t>(wide[i]);
  return is_any_set(any_missing);
}

// First the block of edges where a value belongs, for several values side by side; then its place in there, for several
// edges side by side. Nothing is below a missing value.
template <class V>
bool find_codes(const EdgeTable<V>& table, const V* values, int n_values, std::uint8_t* codes) {
  if (table.n_edges <= edge_block) return find_codes_of_few_edges(table, values, n_values, codes);
  using Lanes = CodeLanes<V>;
  using Real = typename Lanes::Real;
  using Int = typename Lanes::Int;
  alignas(vector_bytes) decltype(Int{}[0] + 0) first[block_rows];
  Int any_missing{};
  const int n_blocks = table.n_edges / edge_block;
  for (int i = 0; i < n_values; i += Lanes::lanes) {
    const Real v = load<Real>(values + i);
    Int block{};
    for (int k = 0; k < n_blocks; ++k) block -= reinterpret_cast<Int>(table.last_of_block[k] < v);
    block *= edge_block;
    std::memcpy(first + i, &block, sizeof(block));
    any_missing |= reinterpret_cast<Int>(v != v);
  }
  for (int i = 0; i < n_values; ++i)
    codes[i] = static_cast<std::uint8_t>(static_cast<int>(first[i]) + count_below(table.edges + first[i], values[i]));
  const bool has_missing = is_any_set(any_missing);
  if (has_missing)
    for (int i = 0; i < n_values; ++i) codes[i] = values[i] != values[i] ? missing_code : codes[i];
  return has_missing;
}
