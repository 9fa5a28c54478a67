import { useState } from 'react';
import { Dialog } from '../../../ui/dialog.tsx';
import { useBoardUi } from '../model/board-ui.ts';
import { AddProjectForm } from './add-project-form.tsx';
import { NewStageForm } from './new-stage-form.tsx';

const TITLES = { 'new-stage': 'New stage', 'add-project': 'Add project' };

/** The form that is open over the board. */
export default function BoardForms() {
  const form = useBoardUi((ui) => ui.form);
  const closeForm = useBoardUi((ui) => ui.closeForm);
  // While the dialog closes, its form stays in it.
  const [shown, setShown] = useState(form ?? 'new-stage');
  if (form !== null && form !== shown) setShown(form);
  return (
    <Dialog opened={form !== null} close={closeForm} title={TITLES[shown]} size={shown === 'new-stage' ? 720 : 480}>
      {shown === 'new-stage' ? <NewStageForm /> : <AddProjectForm />}
    </Dialog>
  );
}
