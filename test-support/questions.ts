/** Input of `AskUserQuestion`: one question with a single choice and one with several. */
export const QUESTIONS = [
  {
    question: 'Which database?',
    header: 'Database',
    multiSelect: false,
    options: [
      { label: 'SQLite', description: 'One file, nothing to run' },
      { label: 'PostgreSQL', description: 'A server, for more than one writer' },
    ],
  },
  {
    question: 'Which features come first?',
    header: 'Features',
    multiSelect: true,
    options: [
      { label: 'Search', description: 'Find a product by its name' },
      { label: 'Export', description: 'Take the orders out as CSV' },
    ],
  },
];
