"""Translation of what model SDKs raise into errors of ours, without the provider's text.

A provider's message may quote the prompt, so only the kind and the status are kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from domain.errors import ModelUnavailable

_MALFORMED = (TypeError, AttributeError, LookupError, ValueError)
"""What the SDKs raise on a body that is not what the protocol promises, or on a stream without any
piece. A block therefore holds one model call and nothing else."""


@contextmanager
def model_failures(what: str = "the model") -> Iterator[None]:
    """Raise :class:`ModelUnavailable` for any failure of a model call inside the block."""
    import openai
    from langchain_core.exceptions import LangChainException, OutputParserException
    from langchain_openai.chat_models.base import OpenAIRefusalError
    from pydantic import ValidationError

    try:
        yield
    except openai.APITimeoutError as error:
        raise ModelUnavailable(what, "timeout") from error
    except openai.APIConnectionError as error:
        raise ModelUnavailable(what, "connection") from error
    except openai.APIStatusError as error:
        raise ModelUnavailable(what, f"status {error.status_code}") from error
    except OpenAIRefusalError as error:
        raise ModelUnavailable(what, "refusal") from error
    except (OutputParserException, ValidationError, *_MALFORMED) as error:
        raise ModelUnavailable(what, "malformed reply") from error
    except (openai.OpenAIError, LangChainException) as error:
        raise ModelUnavailable(what, type(error).__name__) from error
