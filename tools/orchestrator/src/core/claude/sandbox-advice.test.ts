import { expect, it } from 'vitest';
import { adviceFor } from './sandbox.ts';

const system = { isMac: false, osRelease: '', appArmorForbids: false, kernelForbids: false };

it.each([
  ['Debian', 'ID=debian', 'sudo apt install bubblewrap socat'],
  ['Ubuntu', 'NAME="Ubuntu"\nID=ubuntu\nID_LIKE=debian', 'sudo apt install bubblewrap socat'],
  ['Fedora', 'ID=fedora', 'sudo dnf install bubblewrap socat'],
  ['Rocky', 'ID="rocky"\nID_LIKE="rhel centos fedora"', 'sudo dnf install bubblewrap socat'],
  ['Arch', 'ID=arch', 'sudo pacman -S bubblewrap socat'],
])('advises how to install bubblewrap on %s', (_name, osRelease, command) => {
  expect(adviceFor('install', { ...system, osRelease })).toBe(`Run \`${command}\`, then restart Callboard.`);
});

it('names the programs on an unknown system, and nothing to install on macOS', () => {
  expect(adviceFor('install', { ...system, osRelease: 'ID=void' })).toContain('Install bubblewrap and socat');
  expect(adviceFor('install', { ...system, isMac: true })).toContain('part of macOS');
});

it('advises what to change for AppArmor and the kernel', () => {
  expect(adviceFor('allow', { ...system, appArmorForbids: true })).toContain('/etc/apparmor.d/bwrap');
  expect(adviceFor('allow', { ...system, kernelForbids: true })).toContain('kernel.unprivileged_userns_clone=1');
  expect(adviceFor('allow', system)).toContain('user namespaces');
});
