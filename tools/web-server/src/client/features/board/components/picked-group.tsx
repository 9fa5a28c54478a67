import { Autocomplete, Button, Popover } from '@mantine/core';
import { IconChevronDown } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { boardQuery } from '../../../data/queries.ts';
import { ownGroups } from '../../../lib/own-groups.ts';
import css from './board.module.css';

interface PickedGroupProps {
  disabled: boolean;
  /** Null takes the stages out of their groups. */
  choose: (group: string | null) => void;
}

/** Puts all picked stages into one group, a known or a new one. */
export function PickedGroup({ disabled, choose }: PickedGroupProps) {
  const { data: groups = [] } = useQuery({ ...boardQuery, select: ownGroups });
  const [isOpen, setIsOpen] = useState(false);
  const [group, setGroup] = useState('');
  const send = () => {
    setIsOpen(false);
    choose(group.trim() === '' ? null : group.trim());
  };
  return (
    <Popover opened={isOpen} onChange={setIsOpen} trapFocus returnFocus>
      <Popover.Target>
        <Button
          size="xs"
          variant="default"
          disabled={disabled}
          rightSection={<IconChevronDown size={14} />}
          onClick={() => setIsOpen(!isOpen)}
        >
          Group
        </Button>
      </Popover.Target>
      <Popover.Dropdown>
        <form
          className={css.pickedGroup}
          onSubmit={(event) => {
            event.preventDefault();
            send();
          }}
        >
          <Autocomplete
            aria-label="Group of the selected stages"
            placeholder="No group"
            size="xs"
            maxLength={60}
            data={groups}
            value={group}
            onChange={setGroup}
            comboboxProps={{ withinPortal: false }}
          />
          <Button type="submit" size="xs">
            {group.trim() === '' ? 'Take out of groups' : 'Put into group'}
          </Button>
        </form>
      </Popover.Dropdown>
    </Popover>
  );
}
