// Time cut into cells for the heat map: columns of whole seconds, rows of offsets within them.

export const rows = 50;
const mostColumns = 2000;
const second = 1e9;

// Times are nanoseconds since the full second in which the recording begins.
export interface HeatGrid {
  columns: number;
  columnTime: number;
  rowTime: number;
  counts: Float64Array; // by cell: columns one behind the other, so cells are in the order of time
  largest: number;
}

// How many seconds a column holds: one, or as many as it takes to have at most mostColumns.
export function secondsPerColumn(end: number): number {
  const seconds = Math.floor(end / second) + 1;
  if (seconds <= mostColumns) return 1;
  const needed = Math.ceil(seconds / mostColumns);
  return [2, 5, 10, 15, 20, 30, 60, 120, 300, 600, 900, 1800, 3600].find((step) => step >= needed) ?? needed;
}

export function emptyGrid(end: number): HeatGrid {
  const columnTime = secondsPerColumn(end) * second;
  const columns = Math.floor(end / columnTime) + 1;
  return { columns, columnTime, rowTime: columnTime / rows, counts: new Float64Array(columns * rows), largest: 0 };
}

// The cell that a time is in.
export function cellOf(grid: HeatGrid, time: number): number {
  const column = Math.floor(time / grid.columnTime);
  const row = Math.floor((time - column * grid.columnTime) / grid.rowTime);
  return column * rows + Math.min(row, rows - 1);
}

export function beginOf(grid: HeatGrid, cell: number): number {
  return Math.floor(cell / rows) * grid.columnTime + (cell % rows) * grid.rowTime;
}

export function countInto(grid: HeatGrid, time: number, count: number): void {
  const cell = cellOf(grid, time);
  const sum = grid.counts[cell] + count;
  grid.counts[cell] = sum;
  if (sum > grid.largest) grid.largest = sum;
}
