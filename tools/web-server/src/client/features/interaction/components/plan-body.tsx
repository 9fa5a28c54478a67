import { type PendingRequest, PermissionMode } from '@callboard/contract';
import { NativeSelect } from '@mantine/core';
import { count } from '../../../lib/format.ts';
import { modeLabel } from '../../../lib/permission-modes.ts';
import { field } from '../../../lib/tool-words.ts';
import { useDraft } from '../api/use-draft.ts';
import { sendBackReason, withBegun } from '../model/plan-comments.ts';
import type { FormProps } from '../model/verdict.ts';
import { PlanDocument } from './plan-document.tsx';
import css from './request.module.css';
import { RequestMeta } from './request-meta.tsx';
import { VerdictActions } from './verdict-actions.tsx';

const MODES: readonly { value: PermissionMode; label: string }[] = [
  { value: 'default', label: 'Then ask for each edit' },
  { value: 'acceptEdits', label: 'Then edit freely' },
];

/** Claude Code takes no other mode in an answer. */
const NextMode = PermissionMode.exclude(['plan', 'bypassPermissions']);

/** The modes that can follow a plan. The one that the stage worked in before comes first, by its name. */
function nextModes({ modeBefore }: Pick<PendingRequest, 'modeBefore'>): typeof MODES {
  const before = NextMode.safeParse(modeBefore).data;
  if (before === undefined) return MODES;
  const others = MODES.filter(({ value }) => value !== before);
  return [{ value: before, label: `As before: ${modeLabel(before)}` }, ...others];
}

/** A plan to accept, as a document with comments. Accepting always names the mode that follows. */
export function PlanBody({ request, approve }: FormProps) {
  const [{ mode: chosen, comments, begun }, change] = useDraft(request);
  const modes = nextModes(request);
  const mode = chosen ?? modes[0]?.value ?? 'default';
  const sent = approve.isPending || approve.isSuccess;
  const plan = field(request.input, 'plan');
  const remarks = withBegun(comments, begun);
  const counted = remarks.length === 0 ? [] : [count(remarks.length, 'comment')];
  return (
    <>
      <div className={css.scroll}>
        <RequestMeta request={request} />
        {plan.trim() === '' ? (
          <p className={css.why}>No plan text.</p>
        ) : (
          <PlanDocument plan={plan} comments={comments} begun={begun} disabled={sent} change={change} />
        )}
      </div>
      <VerdictActions
        request={request}
        approve={approve}
        caption={counted.length === 0 ? undefined : `${counted.join('')} to send back`}
        beside={
          <NativeSelect
            className={css.nextMode}
            aria-label="Once accepted"
            title="Once accepted"
            data={[...modes]}
            value={mode}
            disabled={sent}
            onChange={(event) => change({ mode: PermissionMode.parse(event.currentTarget.value) })}
          />
        }
        reasonLabel="What should change?"
        yes="Accept plan"
        no="Send back"
        reasonToSend={(typed) => sendBackReason(remarks, typed)}
        leftOut={counted}
        allowWith={{ updatedPermissions: [{ type: 'setMode', mode, destination: 'session' }] }}
      />
    </>
  );
}
