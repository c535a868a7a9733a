// Logarithms and exponentials in plain arithmetic. Unlike those of the C library and of NumPy, whose bits depend on the
// processor's instructions, they have the same bits everywhere, and loops over them can be vectorised. All that shapes
// a model or a prediction uses these. Errors are below 1 unit in the last place for log_of, log1p_of and exp_of, below
// 2.5 for the rest; zeros, infinities, NaN and subnormal numbers are right. Series and reductions are those of
// FreeBSD's libm. Header-only, always inlined: a copy that was compiled for one instruction set must not be called by
// other code.
#pragma once

#include <cstdint>

namespace mpboost {

inline constexpr double ln2_high = 6.93147180369123816490e-01;  // times a whole number below 2^21 it is exact
inline constexpr double ln2_low = 1.90821492927058770002e-10;

// 2^n for a whole number n from -1022 to 1023: put into the low bits of a sum, then moved to where exponents are.
[[gnu::always_inline]] inline double power_of_two(double n) {
  return __builtin_bit_cast(double, __builtin_bit_cast(std::uint64_t, n + (0x1.8p52 + 1023.0)) << 52);
}

// The nearest whole number, for |x| < 2^51.
[[gnu::always_inline]] inline double round_to_whole(double x) { return (x + 0x1.8p52) - 0x1.8p52; }

// log(x) + shift * log(2) + rest for a positive normal number x and a small rest.
[[gnu::always_inline]] inline double log_positive(double x, double shift = 0.0, double rest = 0.0) {
  const auto bits = __builtin_bit_cast(std::uint64_t, x);
  const double mantissa = __builtin_bit_cast(double, (bits & 0x000FFFFFFFFFFFFFULL) | 0x3FF0000000000000ULL);
  // The exponent as a double: put into the low bits of 2^52, which is then taken off.
  const double exponent = __builtin_bit_cast(double, (bits >> 52) | 0x4330000000000000ULL) - (0x1p52 + 1023.0);
  const bool is_upper = mantissa > 1.4142135623730951;
  const double f = mantissa * (is_upper ? 0.5 : 1.0) - 1.0;
  const double n = exponent + (is_upper ? 1.0 : 0.0) + shift;
  // log(1 + f) = f - f^2 / 2 + s (f^2 / 2 + series(s^2)) with s = f / (2 + f).
  const double s = f / (2.0 + f);
  const double z = s * s, w = z * z, half_square = 0.5 * f * f;
  const double even = w * (3.999999999940941908e-01 + w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01));
  const double odd =
      z * (6.666666666666735130e-01 +
           w * (2.857142874366239149e-01 + w * (1.818357216161805012e-01 + w * 1.479819860511658591e-01)));
  return n * ln2_high - ((half_square - (s * (half_square + (odd + even)) + (n * ln2_low + rest))) - f);
}

[[gnu::always_inline]] inline double log_of(double x) {
  const bool is_subnormal = x < 0x1p-1022;
  const double log = log_positive(is_subnormal ? x * 0x1p54 : x, is_subnormal ? -54.0 : 0.0);
  const double of_others = x == 0.0 ? -__builtin_inf() : __builtin_nan("");
  return x > 0.0 ? (x < __builtin_inf() ? log : x) : of_others;
}

// log(1 + x).
[[gnu::always_inline]] inline double log1p_of(double x) {
  const double u = 1.0 + x;
  const double lost = x > 1.0 ? 1.0 - (u - x) : x - (u - 1.0);  // 1 + x is u + lost
  const double log = log_positive(u, 0.0, lost / u);
  const double of_others = x == -1.0 ? -__builtin_inf() : __builtin_nan("");
  return x > -1.0 ? (x < __builtin_inf() ? log : x) : of_others;
}

// exp(x) as fraction * 2^exponent, a whole number, for |x| < 2^50: it cannot overflow.
struct Power {
  double fraction, exponent;
};

[[gnu::always_inline]] inline Power power_of(double x) {
  const double n = round_to_whole(x * 1.4426950408889634);
  const double high = x - n * ln2_high, low = n * ln2_low;
  const double r = high - low, r2 = r * r;
  const double c = r - r2 * (1.66666666666666019037e-01 +
                             r2 * (-2.77777777770155933842e-03 +
                                   r2 * (6.61375632143793436117e-05 +
                                         r2 * (-1.65339022054652515390e-06 + r2 * 4.13813679705723846039e-08))));
  return {1.0 + (r * c / (2.0 - c) - low + high), n};
}

// x * 2^n for a whole number n of up to 2044 in size, rounded once.
[[gnu::always_inline]] inline double scale_by_power(double x, double n) {
  const double half = round_to_whole(0.5 * n);
  return x * power_of_two(half) * power_of_two(n - half);
}

[[gnu::always_inline]] inline double exp_of(double x) {
  const double most = x > 710.0 ? 710.0 : x, bounded = most < -746.0 ? -746.0 : most;  // NaN stays
  const auto [fraction, exponent] = power_of(bounded);
  return scale_by_power(fraction, exponent);
}

// exp(x) - 1.
[[gnu::always_inline]] inline double expm1_of(double x) {
  const double most = x > 710.0 ? 710.0 : x, bounded = most < -50.0 ? -50.0 : most;
  const double n = round_to_whole(bounded * 1.4426950408889634);
  const double high = bounded - n * ln2_high, low = n * ln2_low;
  const double r = high - low, lost = (high - r) - low;
  const double half = 0.5 * r, half_square = r * half;
  const double series =
      1.0 + half_square * (-3.33333333333331316428e-02 +
                           half_square * (1.58730158725481460165e-03 +
                                          half_square * (-7.93650757867487942473e-05 +
                                                         half_square * (4.00821782732936239552e-06 +
                                                                        half_square * -2.01099218183624371326e-07))));
  const double t = 3.0 - series * half;
  const double e = half_square * ((series - t) / (6.0 - r * t));
  const double rest = r - ((r * (e - lost) - lost) - half_square);  // exp(r) - 1
  const double missing = 1.0 - power_of_two(n > 60.0 ? -60.0 : -n);
  return n == 0.0 ? rest : scale_by_power(missing + rest, n);
}

// 1 / (1 + exp(-x)).
[[gnu::always_inline]] inline double logistic_of(double x) {
  const double e = exp_of(-__builtin_fabs(x));
  return (x < 0.0 ? e : 1.0) / (1.0 + e);
}

// log(1 + exp(x)), given exp(-|x|).
[[gnu::always_inline]] inline double softplus_of(double x, double exp_of_minus_size) {
  return (x < 0.0 ? 0.0 : x) + log1p_of(exp_of_minus_size);
}

// exp(x) in single precision for x in [-87, 88], to a relative error of 2e-7: 2^n exp(rest), with the series of Cephes
// for |rest| < 0.35.
[[gnu::always_inline]] inline float exp_single(float x) {
  constexpr float magic = 0x1.8p23f;  // a sum with it is rounded to a whole number, in its low bits
  const float shifted = x * 1.44269504f + magic;
  const float n = shifted - magic;
  const float rest = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  float series = 1.9875691500e-4f;
  series = series * rest + 1.3981999507e-3f;
  series = series * rest + 8.3334519073e-3f;
  series = series * rest + 4.1665795894e-2f;
  series = series * rest + 1.6666665459e-1f;
  series = series * rest + 5.0000001201e-1f;
  series = series * (rest * rest) + rest + 1.0f;
  const std::int32_t power = (__builtin_bit_cast(std::int32_t, shifted) - __builtin_bit_cast(std::int32_t, magic))
                             << 23;
  return __builtin_bit_cast(float, __builtin_bit_cast(std::int32_t, series) + power);
}

}  // namespace mpboost
