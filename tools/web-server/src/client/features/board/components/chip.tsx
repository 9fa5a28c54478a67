import { IconCheck, IconChevronDown } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import css from './chips.module.css';

interface SelectChipProps {
  /** Its accessible name. */
  label: string;
  icon?: ReactNode;
  options: readonly { value: string; label: string; disabled?: boolean }[];
  value: string;
  /** Whether the value differs from the default. */
  isSet: boolean;
  isWrong?: boolean;
  choose: (value: string) => void;
}

/** A choice as a chip: it shows the chosen one, and opens the browser's own list. */
export function SelectChip({ label, icon, options, value, isSet, isWrong = false, choose }: SelectChipProps) {
  const shown = options.find((option) => option.value === value)?.label ?? value;
  return (
    <span className={css.chip} data-set={isSet} data-wrong={isWrong} title={`${label}: ${shown}`}>
      {icon}
      <span aria-hidden>{shown}</span>
      <IconChevronDown size={12} aria-hidden />
      <select aria-label={label} value={value} onChange={(event) => choose(event.currentTarget.value)}>
        {options.map((option) => (
          <option key={option.value} value={option.value} disabled={option.disabled}>
            {option.label}
          </option>
        ))}
      </select>
    </span>
  );
}

interface ToggleChipProps {
  icon: ReactNode;
  label: string;
  description: string;
  checked: boolean;
  change: (checked: boolean) => void;
}

/** A yes or no as a chip. */
export const ToggleChip = ({ icon, label, description, checked, change }: ToggleChipProps) => (
  <span className={css.chip} data-set={checked} title={description}>
    {checked ? <IconCheck size={14} aria-hidden /> : icon}
    <span aria-hidden>{label}</span>
    <input
      type="checkbox"
      aria-label={label}
      aria-description={description}
      checked={checked}
      onChange={(event) => change(event.currentTarget.checked)}
    />
  </span>
);

interface PanelChipProps {
  icon: ReactNode;
  /** What it is about, for a screen reader, ahead of the text. */
  label: string;
  isSet: boolean;
  isWrong?: boolean;
  isOpen: boolean;
  panelId: string;
  press: () => void;
  children: ReactNode;
}

/** A chip that shows or hides fields below the chips. */
export const PanelChip = ({
  icon,
  label,
  isSet,
  isWrong = false,
  isOpen,
  panelId,
  press,
  children,
}: PanelChipProps) => (
  <button
    type="button"
    className={css.chip}
    data-set={isSet}
    data-wrong={isWrong}
    aria-expanded={isOpen}
    aria-controls={isOpen ? panelId : undefined}
    onClick={press}
  >
    {icon}
    <span className="visually-hidden">{label}: </span>
    <span>{children}</span>
    <IconChevronDown size={12} aria-hidden />
  </button>
);
