"""Files of other tools are recognised; the error names the tool that renders them."""

from __future__ import annotations

import pytest

from probetui.manifest.load import load_manifests
from probetui.manifest.manifests import FieldValidation
from probetui.manifest.yaml.parser import SourceFile

TEMPLATE = """\
apiVersion: v1
kind: Pod
metadata:
  name: {{ .Values.name }}
"""
BLOCK = """\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  {{- toYaml .Values.spec | nindent 2 }}
  restartPolicy: Never
"""


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        pytest.param(
            "t/pod.yaml",
            TEMPLATE,
            "t/pod.yaml:4:9: is a template, as Helm has them; to run what it renders: "
            "helm template CHART | probetui -f -",
            id="template",
        ),
        pytest.param(
            "pod.yaml",
            BLOCK,
            "pod.yaml:5:3: is a template, as Helm has them; to run what it renders: "
            "helm template CHART | probetui -f -",
            id="template of a block",
        ),
        pytest.param(
            "shop/Chart.yaml",
            "apiVersion: v2\nname: shop\nversion: 1.0.0-a\n",
            "shop/Chart.yaml:1:1: is a Helm chart; to run what it renders: "
            "helm template shop | probetui -f -",
            id="chart",
        ),
        pytest.param(
            "compose.yaml",
            "services:\n  web: {image: nginx}\n",
            "compose.yaml:1:1: is a Compose file; to run what it renders: "
            "kompose convert --stdout -f compose.yaml | probetui -f -",
            id="compose",
        ),
        pytest.param(
            "kustomization.yaml",
            "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n",
            "kustomization.yaml:1:1: is a Kustomization; to run what it renders: "
            "kubectl kustomize . | probetui -f -",
            id="kustomization",
        ),
        pytest.param(
            "shop/kustomization.yml",
            "resources: [web.yaml]\n",
            "shop/kustomization.yml:1:1: is a Kustomization; to run what it renders: "
            "kubectl kustomize shop | probetui -f -",
            id="kustomization without a kind",
        ),
    ],
)
def test_a_file_of_another_tool_names_what_renders_it(
    name: str, text: str, message: str
) -> None:
    manifests = load_manifests(
        [SourceFile(name, text, f"/srv/{name}")], validation=FieldValidation.WARN
    )

    assert [str(problem) for problem in manifests.problems] == [message]


def test_braces_elsewhere_do_not_hide_a_syntax_error() -> None:
    text = "a: '{{.Name}}'\nb: 1\nc: 2\nd: [\n"

    (problem,) = load_manifests([SourceFile("pod.yaml", text)]).problems

    assert "template" not in problem.message
