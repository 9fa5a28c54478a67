/** Without replaced objects and grafts, a merge takes the objects as the diff shows them. */
export const NO_REPLACEMENTS = { GIT_NO_REPLACE_OBJECTS: '1', GIT_GRAFT_FILE: '/dev/null' };
