import { type HostLocation, hostLocation, hostRule, type PendingRequest, type RuleScope } from '@callboard/contract';
import { IconAlertTriangle } from '@tabler/icons-react';
import { useId, useState } from 'react';
import { hostText } from '../../../lib/request-text.ts';
import { field } from '../../../lib/tool-words.ts';
import codeCss from '../../../ui/code.module.css';
import { Seen } from '../../../ui/seen.tsx';
import type { FormProps } from '../model/verdict.ts';
import { AskedCommand } from './asked-command.tsx';
import content from './content.module.css';
import css from './request.module.css';
import { RequestMeta } from './request-meta.tsx';
import { VerdictActions } from './verdict-actions.tsx';

/** What it means to reach a host of this kind, in a sentence. */
const PLACE_TEXTS: Record<HostLocation, string> = {
  'this-machine': 'This is your own machine: every server that listens on it can be reached, Callboard’s included.',
  metadata: 'Cloud machines hand out their credentials at this address.',
  'local-network': 'This is a host of your local network.',
};

type Duration = RuleScope | 'process';

/** The host that is asked for, what it is, and which command asks. */
export function AskedHost({ request }: { request: PendingRequest }) {
  const place = hostLocation(field(request.input, 'host'));
  return (
    <>
      <pre className={codeCss.block}>{hostText(request)}</pre>
      {place !== null && (
        <p className={content.warning}>
          <IconAlertTriangle size={16} aria-hidden />
          {PLACE_TEXTS[place]}
        </p>
      )}
      <AskedBy commands={request.commands} />
    </>
  );
}

/** A sandboxed command wants to reach a host: which host, which command, and for how long. */
export function NetworkBody({ request, approve }: FormProps) {
  const [duration, setDuration] = useState<Duration>('process');
  const sent = approve.isPending || approve.isSuccess;
  const host = field(request.input, 'host');
  return (
    <>
      <div className={css.scroll}>
        <RequestMeta request={request} />
        <AskedHost request={request} />
        {hostRule(host) === null && (
          <p className={css.why}>
            Allow lasts until the process of this session ends. This host is never kept as a rule.
          </p>
        )}
        {hostRule(host) !== null && <HowLong chosen={duration} choose={setDuration} disabled={sent} />}
      </div>
      <VerdictActions
        request={request}
        approve={approve}
        reasonLabel={null}
        caption="On every port. If you deny it, the connection is blocked, and the next try asks again."
        allowWith={duration === 'process' ? {} : { remember: duration }}
      />
    </>
  );
}

/** Claude Code does not say which command asks. If only one was running, it is that one. */
function AskedBy({ commands }: Pick<PendingRequest, 'commands'>) {
  const [only, ...others] = commands;
  if (only === undefined) return <p className={css.why}>Asked by a command of this session.</p>;
  return (
    <section className={content.askedBy}>
      <h3 className={content.panelTitle}>{others.length === 0 ? 'Asked by' : 'Asked by one of these'}</h3>
      {commands.map(({ id, isBackground, text }) =>
        isBackground ? (
          <p key={id} className={content.hint}>
            In the background: <Seen text={text} kind="prose" />
          </p>
        ) : (
          <AskedCommand key={id} text={text} />
        ),
      )}
    </section>
  );
}

const DURATIONS: { value: Duration; label: string; about: string }[] = [
  { value: 'process', label: 'This session', about: 'until its process ends' },
  { value: 'stage', label: 'This stage', about: 'kept as a rule' },
  { value: 'project', label: 'This project', about: 'kept as a rule for all its stages' },
];

interface HowLongProps {
  chosen: Duration;
  choose: (duration: Duration) => void;
  disabled: boolean;
}

function HowLong({ chosen, choose, disabled }: HowLongProps) {
  const name = useId();
  return (
    <fieldset className={content.offers} disabled={disabled}>
      <legend className={content.panelTitle}>Allow for</legend>
      {DURATIONS.map(({ value, label, about }) => (
        <label key={value} className={content.offer}>
          <input type="radio" name={name} checked={value === chosen} onChange={() => choose(value)} />
          <span>
            {label} <span className={content.hint}>{about}</span>
          </span>
        </label>
      ))}
    </fieldset>
  );
}
