package httpapi

import (
	"html"
	"html/template"
	"regexp"
	"strings"
)

// markdown renders the little Markdown that the document's descriptions use:
// headings, lists, tables, paragraphs, `code` and **bold**. Everything else is
// shown as it is written, and all of it is escaped.
func markdown(text string) template.HTML {
	var b strings.Builder
	for _, block := range blocks(text) {
		renderBlock(&b, block)
	}
	return template.HTML(b.String()) //nolint:gosec // every text in it went through inline, which escapes
}

// blocks splits at blank lines, and where one kind of block follows another.
func blocks(text string) [][]string {
	var all [][]string
	var current []string
	end := func() {
		if len(current) > 0 {
			all, current = append(all, current), nil
		}
	}
	for line := range strings.SplitSeq(text, "\n") {
		trimmed := strings.TrimSpace(line)
		switch {
		case trimmed == "":
			end()
			continue
		case len(current) > 0 && blockKind(trimmed) != blockKind(current[0]) && blockKind(trimmed) != paragraph:
			end()
		}
		current = append(current, trimmed)
		if blockKind(trimmed) == heading {
			end()
		}
	}
	end()
	return all
}

type kindOfBlock int

const (
	paragraph kindOfBlock = iota
	heading
	bulleted
	numbered
	table
)

var numberedItem = regexp.MustCompile(`^[0-9]+\. `)

func blockKind(line string) kindOfBlock {
	switch {
	case strings.HasPrefix(line, "### "):
		return heading
	case strings.HasPrefix(line, "- "):
		return bulleted
	case numberedItem.MatchString(line):
		return numbered
	case strings.HasPrefix(line, "|"):
		return table
	default:
		return paragraph
	}
}

func renderBlock(b *strings.Builder, lines []string) {
	switch blockKind(lines[0]) {
	case heading:
		b.WriteString("<h3>" + inline(strings.TrimPrefix(lines[0], "### ")) + "</h3>\n")
	case bulleted:
		renderItems(b, "ul", lines)
	case numbered:
		renderItems(b, "ol", lines)
	case table:
		renderTable(b, lines)
	default:
		b.WriteString("<p>" + inline(strings.Join(lines, " ")) + "</p>\n")
	}
}

// renderItems renders a list; a line without a mark goes on with the item above.
func renderItems(b *strings.Builder, tag string, lines []string) {
	var items []string
	for _, line := range lines {
		switch blockKind(line) {
		case bulleted:
			items = append(items, strings.TrimPrefix(line, "- "))
		case numbered:
			items = append(items, numberedItem.ReplaceAllString(line, ""))
		default:
			items[len(items)-1] += " " + line
		}
	}
	b.WriteString("<" + tag + ">\n")
	for _, item := range items {
		b.WriteString("<li>" + inline(item) + "</li>\n")
	}
	b.WriteString("</" + tag + ">\n")
}

// renderTable renders rows; the first is the header, the second only a rule.
func renderTable(b *strings.Builder, lines []string) {
	b.WriteString("<table>\n")
	for i, line := range lines {
		if i == 1 {
			continue
		}
		tag := "td"
		if i == 0 {
			tag = "th"
		}
		b.WriteString("<tr>")
		for cell := range strings.SplitSeq(strings.Trim(line, "|"), "|") {
			b.WriteString("<" + tag + ">" + inline(strings.TrimSpace(cell)) + "</" + tag + ">")
		}
		b.WriteString("</tr>\n")
	}
	b.WriteString("</table>\n")
}

var (
	codeSpan = regexp.MustCompile("`([^`]+)`")
	boldSpan = regexp.MustCompile(`\*\*([^*]+)\*\*`)
)

func inline(text string) string {
	text = html.EscapeString(text)
	text = codeSpan.ReplaceAllString(text, "<code>$1</code>")
	return boldSpan.ReplaceAllString(text, "<strong>$1</strong>")
}
