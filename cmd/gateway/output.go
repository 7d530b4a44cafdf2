package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// output is how a command shows what it found.
type output struct {
	format string
	w      io.Writer
}

// define adds -o to a command.
func (o *output) define(cmd *cobra.Command, env Env) {
	o.w = env.Stdout
	cmd.Flags().StringVarP(&o.format, "output", "o", "text", "text, or json: the API's own answers, one a line")
	prior := cmd.Args
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if o.format != "text" && o.format != "json" {
			return errors.New("--output: must be text or json")
		}
		return prior(cmd, args)
	}
}

func (o *output) json() bool { return o.format == "json" }

// raw prints an answer of the API on one line.
func (o *output) raw(a answer) error {
	var line bytes.Buffer
	if err := json.Compact(&line, a.body); err != nil {
		return errors.New("the answer is no JSON: is it a payroll gateway?")
	}
	line.WriteByte('\n')
	_, err := line.WriteTo(o.w)
	return err
}

// item prints a part of an answer on one line.
func (o *output) item(v any) error { return json.NewEncoder(o.w).Encode(v) }

func (o *output) printf(format string, args ...any) { fmt.Fprintf(o.w, format, args...) }

// table prints rows under a header, in columns. A column of numbers is aligned
// to the right.
func (o *output) table(header string, rows func(row func(cells ...any))) error {
	lines := [][]string{strings.Split(header, ",")}
	rows(func(cells ...any) {
		texts := make([]string, len(cells))
		for i, c := range cells {
			texts[i] = fmt.Sprint(c)
		}
		lines = append(lines, texts)
	})
	var b strings.Builder
	for _, line := range lines {
		var text strings.Builder
		for i, cell := range line {
			pad := strings.Repeat(" ", columnWidth(lines, i)-utf8.RuneCountInString(cell))
			if numeric(lines[1:], i) {
				cell = pad + cell
			} else {
				cell += pad
			}
			text.WriteString(cell + "  ")
		}
		b.WriteString(strings.TrimRight(text.String(), " ") + "\n")
	}
	_, err := io.WriteString(o.w, b.String())
	return err
}

func columnWidth(lines [][]string, column int) (width int) {
	for _, line := range lines {
		width = max(width, utf8.RuneCountInString(line[column]))
	}
	return width
}

// numeric reports whether a column holds numbers only.
func numeric(lines [][]string, column int) bool {
	for _, line := range lines {
		if strings.Trim(line[column], "0123456789.,-") != "" {
			return false
		}
	}
	return true
}

// terminal reports whether a writer is a person's terminal, and its width.
func terminal(w io.Writer) (width int, ok bool) {
	f, isFile := w.(*os.File)
	if !isFile || !term.IsTerminal(int(f.Fd())) {
		return 0, false
	}
	width, height, err := term.GetSize(int(f.Fd()))
	return width, err == nil && width > 0 && height > 0
}

// grouped puts separators between the thousands of a decimal text, for people.
func grouped(number string) string {
	digits, fraction, _ := strings.Cut(number, ".")
	sign := ""
	if rest, negative := strings.CutPrefix(digits, "-"); negative {
		sign, digits = "-", rest
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	if fraction != "" {
		fraction = "." + fraction
	}
	return sign + digits + fraction
}

func groupedInt(n int) string { return grouped(fmt.Sprint(n)) }

// right pads a text on its left.
func right(text string, width int) string {
	return strings.Repeat(" ", max(0, width-utf8.RuneCountInString(text))) + text
}
