import type { PendingRequest } from '@callboard/contract';
import { useId, useRef } from 'react';
import { askTitle, requestKey } from '../../../lib/request-words.ts';
import { useFolder, useStageTitle } from '../api/use-request.ts';
import css from './request.module.css';
import { RequestForm } from './request-form.tsx';

interface RequestSectionProps {
  request: PendingRequest;
  /** Whether letters typed on the page are meant for this one, when no other form has the focus. */
  takesKeys: boolean;
}

/** A request in the page: in a stage's transcript, or beside the inbox's list. */
export function RequestSection({ request, takesKeys }: RequestSectionProps) {
  const titleId = useId();
  const section = useRef<HTMLDivElement>(null);
  const title = askTitle(request, useStageTitle(request.stageId), useFolder(request.stageId));
  const keys = (event: KeyboardEvent) => mayTake(event, section.current, takesKeys);
  return (
    <div className={css.section} data-keys={takesKeys} ref={section}>
      <div className={css.sectionHead}>
        <h2 className={css.sectionTitle} id={titleId}>
          {title}
        </h2>
      </div>
      <RequestForm key={requestKey(request)} request={request} keys={keys} labelledBy={titleId} />
    </div>
  );
}

/** Not behind a dialog, and not what cannot be seen; where a form has the focus, the letter is for that one. */
function mayTake(event: KeyboardEvent, section: Element | null, takesKeys: boolean): boolean {
  if (section === null || document.querySelector('[role="dialog"], [role="menu"]') !== null) return false;
  const form = event.target instanceof Element ? event.target.closest('form') : null;
  if (form !== null) return section.contains(form);
  return takesKeys && isInView(section);
}

/** Whether its name and its buttons are on the screen, and nothing over them. */
function isInView(section: Element): boolean {
  return ['h2', 'button[aria-keyshortcuts]'].every((selector) => {
    const part = section.querySelector(selector);
    if (part === null) return false;
    const { left, top, width, height } = part.getBoundingClientRect();
    const shown = document.elementFromPoint(left + Math.min(width / 2, 20), top + height / 2);
    return shown !== null && section.contains(shown);
  });
}
