import type { ContextUsage } from '@callboard/contract';
import css from './stage-head.module.css';

/** How full the model's context is, as a bar and in words. */
export function ContextBar({ usage }: { usage: ContextUsage }) {
  const percent = Math.round(usage.percentage);
  const words = `${usage.usedTokens.toLocaleString()} of ${usage.maxTokens.toLocaleString()} tokens of context used`;
  return (
    <span className={css.context} title={words}>
      <span className={css.meter} aria-hidden>
        <span style={{ width: `${Math.min(100, Math.max(2, percent))}%` }} />
      </span>
      <span className="visually-hidden">{words}</span>
      <span aria-hidden>context {percent} %</span>
    </span>
  );
}
