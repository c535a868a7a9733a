// Part of kernels_isa.inl: the walk over a tree that computes contributions. Points of the quadrature are side by side.

template <int points>
void walk_points(const ContributionWalk& walk) {
  using Real = Double::Real;
  constexpr int rows = contribution_rows;
  const int n_points = points > 0 ? points : walk.n_points;
  const int n_vectors = n_points / Double::lanes;
  const std::int64_t size = std::int64_t{rows} * n_points;
  const auto read = [](const double* from, int k) { return load<Real>(from + k * Double::lanes); };
  const auto write = [](double* to, int k, Real value) { std::memcpy(to + k * Double::lanes, &value, sizeof(Real)); };
  for (std::int64_t i = 0; i < walk.n_steps; ++i) {
    const ContributionStep& step = walk.steps[i];
    const std::uint8_t* states = walk.states + std::int64_t{step.split} * rows;
    const double* tables = walk.tables + step.table;
    double* weights = walk.weights + step.level * size;
    double* sums = walk.sums + step.level * size;
    double* contributions = walk.contributions + step.slot * size;
    const auto for_rows = [&](auto take) {
      for (int row = 0; row < rows; ++row) {
        const double* table = tables + states[row] * step.stride;
        for (int k = 0; k < n_vectors; ++k) take(table, row * n_points, k);
      }
    };
    switch (step.kind) {
      case ContributionStep::leaves:  // their sums, and what they contribute, given the weights of their parent
        for_rows([&](const double* table, int at, int k) {
          const Real weight = read(weights + at, k);
          write(sums + at, k, weight * read(table, k));
          write(contributions + at, k, read(contributions + at, k) + weight * read(table + n_points, k));
        });
        break;
      case ContributionStep::down:  // weights of the child
        for_rows([&](const double* table, int at, int k) {
          write(weights + size + at, k, read(weights + at, k) * read(table, k));
        });
        break;
      case ContributionStep::first_up:  // what the child's leaves contribute, given their sums
        for_rows([&](const double* table, int at, int k) {
          const Real sum = read(sums + size + at, k);
          write(contributions + at, k, read(contributions + at, k) + sum * read(table, k));
          write(sums + at, k, sum);
        });
        break;
      case ContributionStep::up:
        for_rows([&](const double* table, int at, int k) {
          const Real sum = read(sums + size + at, k);
          write(contributions + at, k, read(contributions + at, k) + sum * read(table, k));
          write(sums + at, k, read(sums + at, k) + sum);
        });
        break;
    }
  }
}

void walk_contributions(const ContributionWalk& walk) {
  switch (walk.n_points) {
    case 4: return walk_points<4>(walk);
    case 8: return walk_points<8>(walk);
    case 12: return walk_points<12>(walk);
    default: return walk_points<0>(walk);
  }
}
