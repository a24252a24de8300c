#pragma once

namespace tephra::analysis {

struct Interval {
  double low = 0;
  double high = 0;
};

// A rate that was measured: hits for one unit of `size`. For shares `size` is a number of samples.
struct RateSample {
  double rate = 0;
  double size = 1;
};

// Score intervals, of a share (Wilson) and of a rate of independent events; `z` is the quantile of their tails.
Interval interval_of_share(const RateSample& sample, double z);
Interval interval_of_rate(const RateSample& sample, double z);

// The interval of after - before, from the intervals of both (Newcombe's method 10, and the same for rates). It never
// has no width, and is right for few hits, where differences are not normally distributed.
Interval difference_of_shares(const RateSample& before, const RateSample& after, double z);
Interval difference_of_rates(const RateSample& before, const RateSample& after, double z);

struct WelchResult {
  double error = 0;  // standard error of the difference
  double freedom = 0;
  double p = 1;
};

// Welch's test of a difference of two means whose squared standard errors have these degrees of freedom (infinity:
// known).
WelchResult welch(double difference, double squared_error_a, double freedom_a, double squared_error_b,
                  double freedom_b);

}  // namespace tephra::analysis
