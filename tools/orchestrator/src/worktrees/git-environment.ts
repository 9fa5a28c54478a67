/**
 * Variables that lead git to another repository, index or object store, or change how paths and diffs are read. They are
 * left over where Callboard was started from a hook or from `git rebase --exec`, and never meant for us.
 */
const NOT_OURS = [
  ...['GIT_DIR', 'GIT_WORK_TREE', 'GIT_COMMON_DIR', 'GIT_INDEX_FILE', 'GIT_OBJECT_DIRECTORY', 'GIT_PREFIX'],
  ...['GIT_ALTERNATE_OBJECT_DIRECTORIES', 'GIT_NAMESPACE', 'GIT_IMPLICIT_WORK_TREE', 'GIT_SHALLOW_FILE'],
  ...['GIT_GRAFT_FILE', 'GIT_REPLACE_REF_BASE', 'GIT_NO_REPLACE_OBJECTS', 'GIT_INTERNAL_SUPER_PREFIX'],
  ...['GIT_CONFIG', 'GIT_CONFIG_PARAMETERS', 'GIT_QUARANTINE_PATH', 'GIT_ATTR_SOURCE', 'GIT_EXTERNAL_DIFF'],
  ...['GIT_LITERAL_PATHSPECS', 'GIT_GLOB_PATHSPECS', 'GIT_NOGLOB_PATHSPECS', 'GIT_ICASE_PATHSPECS', 'GIT_DIFF_OPTS'],
];

/**
 * The user's environment for our calls of git. What configures git for the user stays (`GIT_CONFIG_GLOBAL`, `GIT_CONFIG_COUNT`,
 * `GIT_SSH_COMMAND`, names and addresses); nothing asks on a terminal, and no editor is opened.
 */
export function gitEnvironment(user: Readonly<Record<string, string>>): Record<string, string> {
  const kept = Object.entries(user).filter(([name]) => !NOT_OURS.includes(name));
  return { ...Object.fromEntries(kept), GIT_TERMINAL_PROMPT: '0', GIT_EDITOR: ':', GIT_SEQUENCE_EDITOR: ':' };
}

/** All of them, for a hook that is to find its repository as if a person had called git. */
export const variablesOfACall: readonly string[] = ['GIT_DIR', 'GIT_WORK_TREE', 'GIT_COMMON_DIR'];
