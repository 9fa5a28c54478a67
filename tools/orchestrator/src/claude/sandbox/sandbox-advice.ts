/** How a person can fix the sandbox: `install` programs, `allow` what the system forbids, or `look` for the cause. */
export type Advice = 'install' | 'allow' | 'not-root' | 'look';

/** The facts about the system that the advice depends on. */
export interface System {
  isMac: boolean;
  /** The text of `/etc/os-release`. */
  osRelease: string;
  /** AppArmor keeps programs without a profile from creating user namespaces, as on Ubuntu since 23.10. */
  appArmorForbids: boolean;
  /** The kernel lets only root create them. */
  kernelForbids: boolean;
}

const INSTALL: readonly [RegExp, string][] = [
  [/debian|ubuntu/, 'sudo apt install bubblewrap socat'],
  [/fedora|rhel|centos/, 'sudo dnf install bubblewrap socat'],
  [/arch/, 'sudo pacman -S bubblewrap socat'],
  [/suse/, 'sudo zypper install bubblewrap socat'],
  [/alpine/, 'sudo apk add bubblewrap socat'],
];

/** One or two sentences for a person; commands stand in backticks. */
export function adviceFor(wanted: Advice, system: System): string {
  switch (wanted) {
    case 'install':
      return install(system);
    case 'allow':
      return allow(system);
    case 'not-root':
      return 'Start Callboard as an ordinary user.';
    case 'look':
      return system.isMac
        ? 'The sandbox is part of macOS. Check why `sandbox-exec` does not run.'
        : 'Run `callboard doctor` for details.';
    default:
      return wanted satisfies never;
  }
}

function install({ isMac, osRelease }: System): string {
  if (isMac) return 'The sandbox is part of macOS; there is nothing to install.';
  const ids = [...osRelease.matchAll(/^(?:ID|ID_LIKE)=(.*)$/gm)].map(([, value]) => value ?? '').join(' ');
  const command = INSTALL.find(([id]) => id.test(ids.toLowerCase()))?.[1];
  return command === undefined
    ? 'Install bubblewrap and socat, then restart Callboard.'
    : `Run \`${command}\`, then restart Callboard.`;
}

/** Like the profiles that Ubuntu ships for similar programs: `unconfined` allows nothing new except user namespaces. */
const PROFILE =
  "printf 'abi <abi/4.0>,\\ninclude <tunables/global>\\nprofile bwrap /usr/bin/bwrap flags=(unconfined) {\\n  userns,\\n}\\n' | sudo tee /etc/apparmor.d/bwrap && sudo systemctl reload apparmor";

function allow({ appArmorForbids, kernelForbids }: System): string {
  if (appArmorForbids)
    return `AppArmor keeps bubblewrap from creating a sandbox. Allow it with \`${PROFILE}\`, then restart Callboard.`;
  if (kernelForbids)
    return 'The kernel lets only root create a sandbox. Run `sudo sysctl -w kernel.unprivileged_userns_clone=1`, then restart Callboard.';
  return 'The system keeps bubblewrap from creating a sandbox. In a container, allow user namespaces; `callboard doctor` tries again.';
}
