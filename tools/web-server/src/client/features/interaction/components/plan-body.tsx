import { PermissionMode } from '@callboard/contract';
import { NativeSelect } from '@mantine/core';
import { requestKey } from '../../../lib/request-words.ts';
import { field } from '../../../lib/tool-words.ts';
import { Markdown } from '../../../ui/markdown.tsx';
import { useDraft, useDrafts } from '../model/drafts.ts';
import type { RequestBodyProps } from './kinds.ts';
import css from './request.module.css';
import { RequestMeta } from './request-meta.tsx';
import { VerdictActions } from './verdict-actions.tsx';

const MODES = [
  { value: 'default', label: 'Ask for each edit' },
  { value: 'acceptEdits', label: 'Edit freely' },
];

/** A plan to accept, as a document. Accepting always says which mode follows. */
export function PlanBody({ request, keys }: RequestBodyProps) {
  const key = requestKey(request);
  const { mode } = useDraft(key);
  const change = useDrafts((drafts) => drafts.change);
  const plan = field(request.input, 'plan');
  return (
    <>
      <div className={css.scroll}>
        <RequestMeta request={request} />
        {plan.trim() === '' ? (
          <p className={css.why}>No plan text.</p>
        ) : (
          <div className={css.plan}>
            <Markdown text={plan} />
          </div>
        )}
        <NativeSelect
          label="If allowed, then"
          data={MODES}
          value={mode}
          onChange={(event) => change(key, { mode: PermissionMode.parse(event.currentTarget.value) })}
        />
      </div>
      <VerdictActions
        request={request}
        keys={keys}
        reasonLabel="What should change; Claude reads it when you deny"
        allowWith={{ updatedPermissions: [{ type: 'setMode', mode, destination: 'session' }] }}
      />
    </>
  );
}
