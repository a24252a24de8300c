#include "analysis/diff_interval.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "analysis/diff_math.h"

namespace tephra::analysis {
namespace {

Interval difference(const RateSample& before, const Interval& of_before, const RateSample& after,
                    const Interval& of_after) {
  const double change = after.rate - before.rate;
  return {change - std::hypot(after.rate - of_after.low, of_before.high - before.rate),
          change + std::hypot(of_after.high - after.rate, before.rate - of_before.low)};
}

}  // namespace

Interval interval_of_share(const RateSample& sample, double z) {
  const double n = sample.size;
  const double p = std::clamp(sample.rate, 0.0, 1.0);
  const double middle = (p + z * z / (2 * n)) / (1 + z * z / n);
  const double half = z / (1 + z * z / n) * std::sqrt(p * (1 - p) / n + z * z / (4 * n * n));
  return {std::max(0.0, middle - half), std::min(1.0, middle + half)};
}

Interval interval_of_rate(const RateSample& sample, double z) {
  const double n = sample.size;
  const double middle = sample.rate + z * z / (2 * n);
  const double half = z * std::sqrt(sample.rate / n + z * z / (4 * n * n));
  return {std::max(0.0, middle - half), middle + half};
}

Interval difference_of_shares(const RateSample& before, const RateSample& after, double z) {
  return difference(before, interval_of_share(before, z), after, interval_of_share(after, z));
}

Interval difference_of_rates(const RateSample& before, const RateSample& after, double z) {
  return difference(before, interval_of_rate(before, z), after, interval_of_rate(after, z));
}

WelchResult welch(double difference, double squared_error_a, double freedom_a, double squared_error_b,
                  double freedom_b) {
  const double sum = squared_error_a + squared_error_b;
  if (sum <= 0) return {0, std::numeric_limits<double>::infinity(), difference == 0 ? 1.0 : 0.0};
  // Satterthwaite: an infinite number adds nothing.
  const double inverse = squared_error_a * squared_error_a / freedom_a / (sum * sum) +
                         squared_error_b * squared_error_b / freedom_b / (sum * sum);
  const double freedom = inverse > 0 ? 1 / inverse : std::numeric_limits<double>::infinity();
  const double error = std::sqrt(sum);
  return {error, freedom, two_sided_p(difference / error, freedom)};
}

}  // namespace tephra::analysis
