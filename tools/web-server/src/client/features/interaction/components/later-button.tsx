import type { PendingRequest } from '@callboard/contract';
import { Button, Menu } from '@mantine/core';
import { IconChevronDown } from '@tabler/icons-react';
import { clockTime } from '../../../lib/format.ts';
import { useNow } from '../../../lib/use-now.ts';
import { KeyHint } from '../../../ui/key-hint.tsx';
import { useLaterOf, useSetLater } from '../api/use-me.ts';
import { laterTimes } from '../model/later-times.ts';
import { useKeysWork } from './decision-place.tsx';
import css from './request-head.module.css';
import { useLaterKey } from './use-verdict-keys.ts';

interface LaterButtonProps {
  request: PendingRequest;
  /** The requests that wait with it, to set all of them aside; itself included. */
  all?: readonly PendingRequest[];
}

/** Above the overlay, which may lie above another dialog. */
const Z_INDEX = 400;

/** Sets the request aside, for good or until a time; where it is set aside, calls it back. */
export function LaterButton({ request, all = [request] }: LaterButtonProps) {
  const setLater = useSetLater();
  const later = useLaterOf(request);
  const isLater = later !== undefined;
  const put = (requests: readonly PendingRequest[], until: Date | null) =>
    setLater.mutate({ requests, later: { until } });
  const toggle = () => (isLater ? setLater.mutate({ requests: [request], later: null }) : put([request], null));
  const keysWork = useKeysWork();
  useLaterKey(toggle);
  return (
    <div className={css.later}>
      {isLater && <LaterText until={later.until} />}
      <Button
        variant="subtle"
        color="gray"
        size="compact-sm"
        onClick={toggle}
        aria-keyshortcuts={keysWork ? 's' : undefined}
        leftSection={<KeyHint isOff={!keysWork}>S</KeyHint>}
      >
        {isLater ? 'Call me again' : 'Later'}
      </Button>
      <Menu zIndex={Z_INDEX}>
        <Menu.Target>
          <Button variant="subtle" color="gray" size="compact-sm" px={4} aria-label="Until when">
            <IconChevronDown size={14} aria-hidden />
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          <LaterTimes choose={(until) => put([request], until)} />
          {all.length > 1 && (
            <>
              <Menu.Divider />
              <Menu.Item rightSection={<kbd>Esc</kbd>} onClick={() => put(all, null)}>
                Keep all {all.length} in the inbox
              </Menu.Item>
            </>
          )}
        </Menu.Dropdown>
      </Menu>
    </div>
  );
}

/** The times, as of when the menu opens. */
function LaterTimes({ choose }: { choose: (until: Date | null) => void }) {
  const now = new Date(useNow());
  return laterTimes(now).map(({ label, until }) => (
    <Menu.Item key={label} onClick={() => choose(until)}>
      {label}
    </Menu.Item>
  ));
}

function LaterText({ until }: { until: string | null }) {
  return <span className={css.position}>{until === null ? 'Set aside' : `Set aside until ${clockTime(until)}`}</span>;
}
