package sqlite

import (
	"context"
	"strings"
)

// bulk inserts many rows with few statements. Its texts are few as well: rows
// go in powers of a fixed size, so that prepared statements are used again.
type bulk struct {
	head    string // "INSERT INTO t (a, b) VALUES"
	columns int
	tail    string // "ON CONFLICT …", "" for none
}

// bulkSizes are the numbers of rows in one statement, largest first.
var bulkSizes = [...]int{128, 16, 1}

// text numbers no parameter: the driver looks every numbered one up in a list
// of all of them, which is most of the time of a large insert.
func (b bulk) text(rows int) string {
	var s strings.Builder
	s.WriteString(b.head)
	for n := range rows * b.columns {
		switch {
		case n == 0:
			s.WriteString(" (?")
		case n%b.columns == 0:
			s.WriteString("), (?")
		default:
			s.WriteString(", ?")
		}
	}
	s.WriteString(") ")
	s.WriteString(b.tail)
	return s.String()
}

// bulkTexts are the statements of a bulk, made once.
type bulkTexts struct {
	bulk
	texts [len(bulkSizes)]string
}

func newBulk(head string, columns int, tail string) *bulkTexts {
	b := &bulkTexts{bulk: bulk{head: head, columns: columns, tail: tail}}
	for i, rows := range bulkSizes {
		b.texts[i] = b.text(rows)
	}
	return b
}

// insert inserts rows, whose values follow each other in args, in that order,
// and returns how many were not left out by a conflict clause.
func (b *bulkTexts) insert(ctx context.Context, t *tx, args []any) (inserted int64, err error) {
	for i, rows := range bulkSizes {
		width := rows * b.columns
		for len(args) >= width {
			n, err := t.count(ctx, b.texts[i], args[:width]...)
			if err != nil {
				return inserted, err
			}
			inserted += n
			args = args[width:]
		}
	}
	return inserted, nil
}
