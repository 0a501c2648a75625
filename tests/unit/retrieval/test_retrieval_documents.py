"""Files of every kind to text, and the refusal of what is broken."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from domain.errors import InvalidInput
from retrieval.documents import read_document

ENGLISH = "Every colleague may carry five days of leave over into the next year."
GERMAN = "Jede Kollegin darf fünf Urlaubstage in das nächste Jahr übertragen."
FRENCH = "Chaque collègue peut reporter cinq jours de congé sur l’année suivante."


def write(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def pdf(*pages: str) -> bytes:
    """A minimal PDF with one line of text a page; readers mend its missing cross references."""
    kids = " ".join(f"{10 + 2 * number} 0 R" for number in range(len(pages)))
    objects = [
        "1 0 obj <</Type/Catalog/Pages 2 0 R>> endobj",
        f"2 0 obj <</Type/Pages/Count {len(pages)}/Kids[{kids}]>> endobj",
        "3 0 obj <</Type/Font/Subtype/Type1/BaseFont/Helvetica>> endobj",
    ]
    for number, text in enumerate(pages):
        page, stream = 10 + 2 * number, f"BT /F1 12 Tf 50 700 Td ({text}) Tj ET"
        objects.append(
            f"{page} 0 obj <</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]"
            f"/Resources<</Font<</F1 3 0 R>>>>/Contents {page + 1} 0 R>> endobj\n"
            f"{page + 1} 0 obj <</Length {len(stream)}>> stream\n{stream}\nendstream endobj"
        )
    body = "\n".join(objects)
    return f"%PDF-1.4\n{body}\ntrailer <</Root 1 0 R>>\n%%EOF\n".encode()


def docx(folder: Path, name: str, *paragraphs: tuple[str, str]) -> Path:
    """A minimal Word file from (style, text)."""
    body = "".join(
        f'<w:p><w:pPr><w:pStyle w:val="{style}"/></w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>'
        for style, text in paragraphs
    )
    namespace = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    types = "application/vnd.openxmlformats-officedocument.wordprocessingml"
    path = folder / name
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(
            "[Content_Types].xml",
            f'<Types xmlns="{package}/content-types"><Default Extension="rels" '
            'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
            f'<Override PartName="/word/document.xml" ContentType="{types}.document.main+xml"/>'
            "</Types>",
        )
        archive.writestr(
            "_rels/.rels",
            f'<Relationships xmlns="{package}/relationships"><Relationship Id="r1" '
            f'Type="{office}/officeDocument" Target="word/document.xml"/></Relationships>',
        )
        archive.writestr(
            "word/document.xml",
            f'<w:document xmlns:w="{namespace}"><w:body>{body}</w:body></w:document>',
        )
    return path


def test_markdown_keeps_headings_tables_and_language(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "leave-rules.md",
        f"# Leave\n\n{ENGLISH}\n\n## Amounts\n\n| Kind | Days |\n|---|---|\n| Leave | 30 |\n",
    )
    document = read_document(path)
    assert document.title == "Leave"
    assert document.language == "en"
    assert ENGLISH in document.text
    assert "30" in document.text
    assert [(item.title, item.level) for item in document.headings] == [
        ("Leave", 1),
        ("Amounts", 2),
    ]
    for item in document.headings:
        assert document.text.startswith(item.title, item.offset)


def test_html_keeps_short_sections_and_lists(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "karte.html",
        "<html lang=de><head><title>Karte</title><script>let hidden</script></head><body>"
        f"<h1>Karte</h1><p>{GERMAN}</p><h2>Verdacht</h2><ol><li>Ziehen Sie das Kabel.</li></ol>"
        f"<h2>Post</h2><p>{GERMAN * 3}</p></body></html>",
    )
    document = read_document(path)
    assert "Ziehen Sie das Kabel." in document.text
    assert "hidden" not in document.text
    assert document.language == "de"


def test_word_keeps_headings(tmp_path: Path) -> None:
    path = docx(tmp_path, "conges.docx", ("Heading1", "Congés"), ("Normal", FRENCH))
    document = read_document(path)
    assert document.title == "Congés"
    assert FRENCH in document.text
    assert document.language == "fr"


def test_pdf_keeps_pages(tmp_path: Path) -> None:
    path = write(tmp_path, "leave.pdf", pdf("Leave of absence", ENGLISH))
    document = read_document(path)
    assert document.title == "Leave of absence"
    assert len(document.pages) == 2
    assert document.text[document.pages[1] :].startswith(ENGLISH)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_text_in_several_encodings(tmp_path: Path, encoding: str) -> None:
    path = write(tmp_path, "urlaubs_regeln.txt", f"{GERMAN}\r\n{GERMAN}".encode(encoding))
    document = read_document(path)
    assert document.text == f"{GERMAN}\n{GERMAN}"
    assert document.title == "Urlaubs regeln"
    assert document.language == "de"


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("broken.pdf", b"%PDF-1.7 not really", "is not a readable PDF file"),
        ("broken.docx", b"PK\x03\x04 not really", "is not a readable Word file"),
        ("empty.md", b" \n", "holds no text"),
        ("empty.pdf", b"", "is not a readable PDF file"),
        ("empty.html", b"", "holds no text"),
        ("picture.txt", b"\x89PNG\x00\x00\xff\xfe\x81", "is not text in a known encoding"),
        ("nul.txt", b"text\x00text", "is not text"),
        ("table.xlsx", b"PK", "has a kind that cannot be read"),
    ],
)
def test_what_is_broken_is_refused_by_name(
    tmp_path: Path, name: str, content: bytes, reason: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        read_document(write(tmp_path, name, content))
    assert refused.value.field == name
    assert refused.value.reason == reason
    assert refused.value.mend


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"gone\.md"):
        read_document(tmp_path / "gone.md")


def test_a_pdf_without_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="holds no text"):
        read_document(write(tmp_path, "scan.pdf", pdf("")))
