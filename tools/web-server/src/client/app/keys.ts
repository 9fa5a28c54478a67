/** Whether the command key takes the place of Ctrl. */
export const isMac = navigator.userAgent.includes('Mac');

/** A key, or keys, and what they do. */
export interface KeyEntry {
  keys: readonly string[];
  does: string;
}

/** The frame's own keys. All others belong to the component they are pressed in. */
export const FRAME_KEYS = {
  palette: { keys: ['Ctrl', 'K'], does: 'Search everything, or run a command' },
  help: { keys: ['?'], does: 'Keyboard shortcuts' },
  board: { keys: ['G', 'B'], does: 'Go to the board' },
  inbox: { keys: ['G', 'I'], does: 'Go to the inbox' },
  list: { keys: ['G', 'S'], does: 'Go to the board as a list' },
  decisions: { keys: ['G', 'D'], does: 'Go to the decisions' },
  newStage: { keys: ['N'], does: 'New stage' },
  find: { keys: ['/'], does: 'Find on the board' },
} as const satisfies Record<string, KeyEntry>;

interface KeyGroup {
  title: string;
  entries: readonly KeyEntry[];
}

/** All keys, for the help sheet. */
export const KEY_GROUPS: readonly KeyGroup[] = [
  { title: 'Everywhere', entries: Object.values(FRAME_KEYS) },
  {
    title: 'The stage that is open or has the focus',
    entries: [
      { keys: ['Shift', 'M'], does: 'Finish it: merge, pull request' },
      { keys: ['F2'], does: 'Rename it' },
      { keys: ['Delete'], does: 'Delete it' },
      { keys: ['1-5'], does: 'On its page: transcript, changes and the other tabs' },
    ],
  },
  {
    title: 'A request',
    entries: [
      { keys: ['C'], does: 'Look at the waiting request' },
      { keys: ['A'], does: 'Allow, accept or submit, where the button shows it' },
      { keys: ['D'], does: 'Deny, decline or send back' },
      { keys: ['1-9'], does: 'Choose an option of a question' },
      { keys: ['E'], does: 'Edit before allowing' },
      { keys: ['S'], does: 'Snooze: keep the request in the inbox' },
      { keys: ['Esc'], does: 'Snooze all waiting requests' },
    ],
  },
  {
    title: 'The inbox',
    entries: [
      { keys: ['J'], does: 'Next item' },
      { keys: ['K'], does: 'Previous item' },
      { keys: ['A', 'D', 'S'], does: 'Allow, deny or snooze the selected request' },
      { keys: ['X'], does: 'Select the request, to decide several together' },
      { keys: ['Shift', 'X'], does: 'Select all identical requests' },
      { keys: ['L'], does: 'Look at the next selected request' },
      { keys: ['Esc'], does: 'Clear the selection' },
      { keys: ['A'], does: 'Continue a stopped stage' },
      { keys: ['T'], does: 'Allow what Claude Code denied, and try again' },
      { keys: ['Enter'], does: 'Open the stage' },
    ],
  },
  {
    title: 'The board and its list',
    entries: [
      { keys: ['J'], does: 'Next stage' },
      { keys: ['K'], does: 'Previous stage' },
      { keys: ['←', '↑', '↓', '→'], does: 'Neighbouring stage' },
      { keys: ['Enter'], does: 'Open the stage' },
      { keys: ['S'], does: 'Start the stage, or all selected ones' },
      { keys: ['H'], does: 'Hold or release the stage, or all selected ones' },
      { keys: ['X'], does: 'Select the stage, to act on several together' },
      { keys: ['Space'], does: 'Pick up the stage, and drop it' },
      { keys: ['←', '→'], does: 'Move it to another column' },
      { keys: ['Esc'], does: 'Put it back, or clear the selection' },
      { keys: ['V'], does: 'Show the board as columns, list, groups or graph' },
    ],
  },
  {
    title: 'The graph',
    entries: [
      { keys: ['←', '↑', '↓', '→'], does: 'Nearest stage in that direction' },
      { keys: ['J', 'K'], does: 'Next stage, previous stage' },
      { keys: ['Enter'], does: 'Open the stage' },
      { keys: ['+', '-'], does: 'Zoom in, zoom out' },
      { keys: ['0'], does: 'Zoom to fit' },
    ],
  },
  {
    title: 'The search',
    entries: [
      { keys: ['Enter'], does: 'Go to the first result, or open the selected one' },
      { keys: ['J', 'K'], does: 'Next result, previous result' },
      { keys: ['/'], does: 'Back to the words' },
    ],
  },
  {
    title: 'A stage',
    entries: [
      { keys: ['Esc Esc'], does: 'Interrupt the turn' },
      { keys: ['M'], does: 'Write a message; Esc goes back to the transcript' },
      { keys: ['/'], does: 'Find in the transcript' },
      { keys: ['J', 'K'], does: 'Next entry, previous entry' },
      { keys: ['Enter'], does: 'Open or fold the entry' },
      { keys: ['R'], does: 'Go back to the selected message' },
      { keys: ['F'], does: 'Fork the stage from the selected message' },
      { keys: ['Home'], does: 'First entry of the transcript' },
      { keys: ['End'], does: 'Last entry of the transcript' },
    ],
  },
  {
    title: 'Changes',
    entries: [
      { keys: [']', '['], does: 'Next file, previous file' },
      { keys: ['J', 'K'], does: 'The same, with the focus in the changes' },
      { keys: ['V'], does: 'Mark the file as viewed, or not' },
      { keys: ['↑', '↓'], does: 'Select a line; with Shift, several' },
      { keys: ['C'], does: 'Comment on the selected lines' },
      { keys: ['N', 'P'], does: 'Next comment, previous comment' },
      { keys: ['Ctrl', 'Enter'], does: 'Add the comment' },
    ],
  },
  {
    title: 'Writing a message',
    entries: [
      { keys: ['Enter'], does: 'Send' },
      { keys: ['Ctrl', 'Enter'], does: 'Steer the running turn' },
      { keys: ['Ctrl', 'Shift', 'Enter'], does: 'Interrupt and send now' },
      { keys: ['Shift', 'Enter'], does: 'New line' },
      { keys: ['/'], does: 'Commands' },
      { keys: ['@'], does: 'Files' },
    ],
  },
];
