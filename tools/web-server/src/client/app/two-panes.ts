/** Where a stage's page shows its transcript beside its other tabs. */
export const TWO_PANES = '(min-width: 1280px)';
