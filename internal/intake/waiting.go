package intake

// waitingRows keeps the bytes of rows that came before the part of the envelope
// that they depend on: JSON members come in any order.
type waitingRows struct {
	spool spool
	limit int // rows
	count int
}

func (w *waitingRows) append(raw []byte) error {
	if w.count >= w.limit {
		return errTooManyLines(w.limit)
	}
	w.count++
	return w.spool.append(raw)
}

// each ends the waiting and gives every row to add.
func (w *waitingRows) each(add func(raw []byte) error) error {
	if err := w.spool.seal(); err != nil {
		return err
	}
	for raw, err := range w.spool.records() {
		if err != nil {
			return err
		}
		if err := add(raw); err != nil {
			return err
		}
	}
	return nil
}
