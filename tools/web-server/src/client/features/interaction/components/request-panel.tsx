import { type RefObject, useEffect, useRef } from 'react';
import { requestKey } from '../../../lib/request-text.ts';
import { useFolder, useStageTitle } from '../api/use-request.ts';
import { askTitle } from '../words/request-words.ts';
import { DecisionSlot } from './decision-place.tsx';
import { DelayedAnswers } from './held-answers.tsx';
import css from './request.module.css';
import { RequestForm } from './request-form.tsx';
import { type FrontProps, TextHint } from './request-front.tsx';
import { RequestHead } from './request-head.tsx';
import { FRONT } from './use-focus-given-back.ts';
import { ROOM } from './use-free-height.ts';

/** The first waiting request beside the page: at its right edge, on a phone at its bottom. It never takes the focus. */
export function RequestPanel({ request, position, all, isCovered }: FrontProps) {
  const panel = useRef<HTMLElement>(null);
  useRoomBesidePage(panel);
  const title = askTitle(request, useStageTitle(request.stageId), useFolder(request.stageId));
  const key = requestKey(request);
  return (
    <section
      ref={panel}
      className={css.panel}
      aria-label="Waiting request"
      inert={isCovered}
      {...{ [FRONT]: '', [ROOM]: true }}
    >
      <p className="visually-hidden" role="status">
        {title}
      </p>
      <DecisionSlot key={key} about={key} className={css.frontPlace}>
        <DelayedAnswers />
        <RequestHead request={request} position={position} all={all} />
        <RequestForm request={request} label={title} />
        <TextHint />
      </DecisionSlot>
    </section>
  );
}

const SIDE = '--docked-end';
const BELOW = '--docked-bottom';

/** Makes the page leave room for the panel, so that it covers nothing. */
function useRoomBesidePage(panel: RefObject<HTMLElement | null>): void {
  useEffect(() => {
    const element = panel.current;
    if (element === null) return;
    const { style } = document.documentElement;
    const measure = () => {
      const { width, height } = element.getBoundingClientRect();
      const isSheet = width >= window.innerWidth;
      style.setProperty(SIDE, isSheet ? '0px' : `${width}px`);
      style.setProperty(BELOW, isSheet ? `${height}px` : '0px');
    };
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => {
      observer.disconnect();
      style.removeProperty(SIDE);
      style.removeProperty(BELOW);
    };
  }, [panel]);
}
