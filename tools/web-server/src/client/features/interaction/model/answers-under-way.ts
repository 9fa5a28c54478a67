import { create } from 'zustand';

/** The answers that this tab sends. */
interface AnswersUnderWay {
  /** The requests that this tab is answering or has answered. Their end needs no notice here. */
  own: ReadonlySet<string>;
  /** How many answers are being sent. */
  sending: number;
}

const useAnswersUnderWay = create<AnswersUnderWay>(() => ({ own: new Set(), sending: 0 }));

export const isOwn = (key: string): boolean => useAnswersUnderWay.getState().own.has(key);

export const markOwn = (key: string): void =>
  useAnswersUnderWay.setState(({ own }) => ({ own: new Set(own).add(key) }));

/** Forgets a request whose answer did not arrive, as somebody else may still answer it. */
export const unmarkOwn = (key: string): void =>
  useAnswersUnderWay.setState(({ own }) => ({ own: new Set([...own].filter((other) => other !== key)) }));

// The browser shows its own wording.
const ask = (event: BeforeUnloadEvent) => event.preventDefault();

function countSending(by: 1 | -1): void {
  const { sending } = useAnswersUnderWay.getState();
  useAnswersUnderWay.setState({ sending: sending + by });
  if (sending === 0) window.addEventListener('beforeunload', ask);
  if (sending + by === 0) window.removeEventListener('beforeunload', ask);
}

/** Makes the browser ask before the page is left while an answer is being sent: the answer would be lost without notice. */
export async function askBeforeLeaving<T>(send: () => Promise<T>): Promise<T> {
  countSending(1);
  try {
    return await send();
  } finally {
    countSending(-1);
  }
}
