/** What a stage's own switch is set to, as the value of a field; empty: as the project says. */
export const sandboxValue = (sandbox: boolean | null): string => (sandbox === null ? '' : sandbox ? 'on' : 'off');

/** The switch that such a value stands for. */
export const sandboxOf = (value: string): boolean | null => (value === '' ? null : value === 'on');

/** What can be chosen for a stage, where its project has the sandbox on, off, or has not decided. */
export const sandboxOptions = (ofProject: boolean | null) => [
  { value: '', label: `As the project: ${ofProject === true ? 'on' : 'off'}` },
  { value: 'on', label: 'On' },
  { value: 'off', label: 'Off' },
];
