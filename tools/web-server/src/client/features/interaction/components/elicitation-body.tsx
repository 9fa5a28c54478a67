import { contentOf, type FieldValue, type FormField, fieldProblem, fieldsOf, isFilledIn } from '@callboard/contract';
import { Checkbox, NativeSelect, TextInput } from '@mantine/core';
import { field } from '../../../lib/tool-words.ts';
import { Seen } from '../../../ui/seen.tsx';
import { useDraft } from '../api/use-draft.ts';
import { useCanDecide } from '../api/use-request.ts';
import { delayedFor, type FormProps } from '../model/verdict.ts';
import { DecisionButton, type Press } from './decision-place.tsx';
import css from './request.module.css';
import { RequestMeta } from './request-meta.tsx';
import { VerdictActions } from './verdict-actions.tsx';

/** A form that an MCP server asks a person to fill in. */
export function ElicitationBody({ request, approve }: FormProps) {
  const [draft, change] = useDraft(request);
  const fields = fieldsOf(request.input);
  return (
    <>
      <div className={css.scroll}>
        <RequestMeta request={request} />
        <p>
          <Seen text={field(request.input, 'message')} kind="prose" />
        </p>
        {fields.map((one) => (
          <ElicitationField
            key={one.name}
            field={one}
            value={draft.fields[one.name] ?? one.initial}
            set={(value) => change({ fields: { ...draft.fields, [one.name]: value } })}
          />
        ))}
      </div>
      <VerdictActions
        request={request}
        approve={approve}
        reasonLabel={null}
        beside={<Cancel request={request} approve={approve} />}
        yes="Send"
        no="Decline"
        allowWith={{ updatedInput: contentOf(fields, draft.fields) }}
        incomplete={!isFilledIn(fields, draft.fields)}
      />
    </>
  );
}

/** Closes the form without an answer: the server hears neither yes nor no. */
function Cancel({ request, approve }: Pick<FormProps, 'request' | 'approve'>) {
  const canAnswer = useCanDecide(request);
  const sent = approve.isPending || approve.isSuccess;
  const cancel = (press: Press) => approve.mutate({ decision: 'deny', cancel: true, ...delayedFor(press) });
  return (
    <DecisionButton variant="subtle" disabled={sent || !canAnswer} act={cancel}>
      Cancel
    </DecisionButton>
  );
}

interface ElicitationFieldProps {
  field: FormField;
  value: FieldValue;
  set: (value: FieldValue) => void;
}

function ElicitationField({
  field: { label, description, kind, choices, required },
  value,
  set,
}: ElicitationFieldProps) {
  const common = { label, description, required };
  switch (kind) {
    case 'flag':
      return (
        <Checkbox
          label={label}
          description={description}
          checked={value === true}
          onChange={(event) => set(event.currentTarget.checked)}
        />
      );
    case 'choice':
      return (
        <NativeSelect
          {...common}
          data={[{ value: '', label: '' }, ...choices]}
          value={String(value)}
          onChange={(event) => set(event.currentTarget.value)}
        />
      );
    case 'number':
    case 'text':
      return (
        <TextInput
          {...common}
          inputMode={kind === 'number' ? 'decimal' : 'text'}
          error={fieldProblem(kind, value)}
          value={String(value)}
          onChange={(event) => set(event.currentTarget.value)}
        />
      );
    default:
      return kind satisfies never;
  }
}
