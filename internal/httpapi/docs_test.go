package httpapi

import (
	"crypto/sha256"
	"encoding/base64"
	"regexp"
	"strings"
	"testing"
)

// TestThePageExplainsEverything: the type of every problem leads to an anchor,
// and every call and parameter is named.
func TestThePageExplainsEverything(t *testing.T) {
	d, err := readDocument()
	if err != nil {
		t.Fatal(err)
	}
	page := newWorld(t).do(samples()["getDocs"].request()).Body.String()
	for code := range problems {
		if !strings.Contains(page, `<dt id="`+string(code)+`">`) {
			t.Errorf("no anchor for %s", code)
		}
	}
	for _, o := range d.operations {
		if !strings.Contains(page, o.method+" "+o.pattern) || !strings.Contains(page, `id="`+o.id+`"`) {
			t.Errorf("%s is not explained", o.id)
		}
	}
	for _, left := range []string{"**", "`", "{{", "ZgotmplZ", "<no value>"} {
		if strings.Contains(page, left) {
			t.Errorf("the page shows %q", left)
		}
	}
}

func TestThePageNeedsNothingFromElsewhere(t *testing.T) {
	rec := newWorld(t).do(samples()["getDocs"].request())
	page := rec.Body.String()
	if m := regexp.MustCompile(`(?i)(src|href)\s*=\s*"?(https?:)?//|<script|<link|@import|url\(`).FindString(page); m != "" {
		t.Errorf("the page reaches out: %s", m)
	}
	_, rest, _ := strings.Cut(page, "<style>")
	style, _, _ := strings.Cut(rest, "</style>")
	sum := sha256.Sum256([]byte(style))
	if !strings.Contains(rec.Header().Get("Content-Security-Policy"), base64.StdEncoding.EncodeToString(sum[:])) {
		t.Error("the policy does not allow the page its own style")
	}
}

func TestAnchorsAreUnique(t *testing.T) {
	page := newWorld(t).do(samples()["getDocs"].request()).Body.String()
	seen := map[string]bool{}
	for _, m := range regexp.MustCompile(`\bid="([^"]+)"`).FindAllStringSubmatch(page, -1) {
		if seen[m[1]] {
			t.Errorf("two anchors %s", m[1])
		}
		seen[m[1]] = true
	}
}

func TestMarkdown(t *testing.T) {
	for text, want := range map[string]string{
		"":                                  "",
		"a\nb\n\nc":                         "<p>a b</p>\n<p>c</p>\n",
		"### H\ntext":                       "<h3>H</h3>\n<p>text</p>\n",
		"text:\n- a\n  more\n- `b`":         "<p>text:</p>\n<ul>\n<li>a more</li>\n<li><code>b</code></li>\n</ul>\n",
		"1. **x**\n2. y":                    "<ol>\n<li><strong>x</strong></li>\n<li>y</li>\n</ol>\n",
		"| a | b |\n|---|---|\n| `1` | 2 |": "<table>\n<tr><th>a</th><th>b</th></tr>\n<tr><td><code>1</code></td><td>2</td></tr>\n</table>\n",
		"<script>&`<b>`":                    "<p>&lt;script&gt;&amp;<code>&lt;b&gt;</code></p>\n",
	} {
		if got := string(markdown(text)); got != want {
			t.Errorf("%q:\n%q, want\n%q", text, got, want)
		}
	}
}
