import { userInfo } from 'node:os';

/** What the person at this machine is called; a user without an account name is possible in containers. */
export function ownerName(): string {
  try {
    return userInfo().username;
  } catch {
    return 'owner';
  }
}
