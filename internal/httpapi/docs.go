package httpapi

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"maps"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"payrollgateway/internal/httpapi/apigen"
)

//go:embed docs.html
var docsTemplate string

//go:embed docs.css
var docsStyle string

// docsPage is what the page of documentation shows: the document, and nothing
// that is not in it.
type docsPage struct {
	Title       string
	Version     string
	Description template.HTML
	Style       template.CSS
	Sections    []docsSection
	Problems    []docsProblem
}

// docsSection is the operations of one tag.
type docsSection struct {
	Name        string
	Description template.HTML
	Operations  []docsOperation
}

type docsOperation struct {
	ID, Method, Path, Summary string
	Description               template.HTML
	Scopes                    []apigen.Scope
	Parameters                []docsParameter
	Bodies                    []string
	Responses                 []docsResponse
}

type docsParameter struct {
	Name, In    string
	Required    bool
	Description template.HTML
}

type docsResponse struct {
	Status      string
	Description template.HTML
	Codes       []string // of problems; the examples are named after them
}

// docsProblem is one code, under the anchor that a problem's type leads to.
type docsProblem struct {
	Code, Title, Meaning, Detail string
	Status                       int
}

// renderDocs renders the page, and the policy that allows it its own style and
// nothing else.
func renderDocs(d *document) (page []byte, policy string, err error) {
	t, err := template.New("docs").Parse(docsTemplate)
	if err != nil {
		return nil, "", fmt.Errorf("httpapi: the documentation's template: %w", err)
	}
	var b bytes.Buffer
	if err := t.Execute(&b, pageOf(d)); err != nil {
		return nil, "", fmt.Errorf("httpapi: the documentation: %w", err)
	}
	sum := sha256.Sum256([]byte(docsStyle))
	policy = "default-src 'none'; frame-ancestors 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	return b.Bytes(), policy, nil
}

func pageOf(d *document) docsPage {
	p := docsPage{
		Title: d.spec.Info.Title, Version: d.spec.Info.Version, Description: markdown(d.spec.Info.Description), Style: template.CSS(docsStyle),
		Problems: docsProblems(d),
	}
	for _, tag := range d.spec.Tags {
		section := docsSection{Name: tag.Name, Description: markdown(tag.Description)}
		for _, key := range slices.SortedFunc(maps.Keys(d.operations), byPath) {
			if o := d.operations[key]; o.spec.Tags[0] == tag.Name {
				section.Operations = append(section.Operations, docsOf(o))
			}
		}
		p.Sections = append(p.Sections, section)
	}
	return p
}

// byPath orders "METHOD /path" by path, then method.
func byPath(a, b string) int {
	methodA, pathA, _ := strings.Cut(a, " ")
	methodB, pathB, _ := strings.Cut(b, " ")
	return strings.Compare(pathA+" "+methodA, pathB+" "+methodB)
}

func docsOf(o *operation) docsOperation {
	v := docsOperation{
		ID: o.id, Method: o.method, Path: o.pattern, Summary: o.spec.Summary, Description: markdown(o.spec.Description), Scopes: o.scopes,
	}
	for _, p := range o.params {
		v.Parameters = append(v.Parameters, docsParameter{
			Name: p.Value.Name, In: p.Value.In, Required: p.Value.Required, Description: markdown(p.Value.Description),
		})
	}
	if o.spec.RequestBody != nil {
		v.Bodies = slices.Sorted(maps.Keys(o.spec.RequestBody.Value.Content))
	}
	responses := o.spec.Responses.Map()
	for _, status := range slices.Sorted(maps.Keys(responses)) {
		v.Responses = append(v.Responses, docsOfResponse(status, responses[status].Value))
	}
	return v
}

func docsOfResponse(status string, r *openapi3.Response) docsResponse {
	v := docsResponse{Status: status, Description: markdown(*r.Description)}
	if problem := r.Content["application/problem+json"]; problem != nil {
		v.Codes = slices.Sorted(maps.Keys(problem.Examples))
	}
	return v
}

// docsProblems takes the meaning of each code from the document and the rest
// from the table.
func docsProblems(d *document) []docsProblem {
	var all []docsProblem
	meanings := meaningsOf(d.spec.Components.Schemas["ProblemCode"].Value.Description)
	for _, v := range d.spec.Components.Schemas["ProblemCode"].Value.Enum {
		code := fmt.Sprint(v)
		k := problems[apigen.ProblemCode(code)]
		all = append(all, docsProblem{Code: code, Status: k.status, Title: k.title, Meaning: meanings[code], Detail: k.detail})
	}
	return all
}

// meaningsOf reads the last column of the document's table of codes.
func meaningsOf(table string) map[string]string {
	meanings := map[string]string{}
	for row := range strings.SplitSeq(table, "\n") {
		if cells := strings.Split(row, "|"); len(cells) >= 4 {
			meanings[strings.Trim(cells[1], " `")] = strings.TrimSpace(cells[3])
		}
	}
	return meanings
}
