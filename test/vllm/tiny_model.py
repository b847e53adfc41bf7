"""Writes to the folder named: tiny, a two-layer random Llama that answers noise, and tiny-lora, an adapter of rank 8 for it.

What is around the weights is whole: a byte-level tokenizer, a ChatML template with tools and thinking, the marks that vLLM's parsers
look for. vLLM's attention on the CPU takes head sizes of 32 and more.
"""

import argparse
import inspect
import json
import pathlib
import shutil
import subprocess
import sys

import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

CONTEXT = 16_384
RANK = 8
HIDDEN, HEADS, HEAD = 128, 2, 64
MARKS = ["<s>", "</s>", "<|im_start|>", "<|im_end|>", "<think>", "</think>", "<tool_call>", "</tool_call>"]

# Earlier thoughts are left out, as the templates of many models do it: a later prompt then does not extend the one before. With
# keep_thinking they stay, where the server hands them to the template.
TEMPLATE = """
{%- if tools %}<|im_start|>system
Tools:{% for tool in tools %}
{{ tool | tojson }}{% endfor %}<|im_end|>
{% endif %}
{%- for message in messages %}<|im_start|>{{ message.role }}
{% if keep_thinking is defined and message.reasoning %}<think>{{ message.reasoning }}</think>
{% endif %}{{ message.content or '' }}
{%- for call in message.tool_calls or [] %}
<tool_call>
{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}
</tool_call>
{%- endfor %}<|im_end|>
{% endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
{% if enable_thinking is defined and enable_thinking %}<think>
{% else %}<think></think>
{% endif %}{% endif %}"""


def write_tokenizer(out: pathlib.Path) -> int:
    """Trained on what every Python of this version has: English, code and shell, the same everywhere."""
    text = [inspect.getsource(module) for module in (argparse, shutil, subprocess)]
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=2048, special_tokens=MARKS, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    bpe.train_from_iterator(text, trainer)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=bpe, bos_token="<s>", eos_token="<|im_end|>", pad_token="</s>", model_max_length=CONTEXT
    )
    tokenizer.chat_template = TEMPLATE
    tokenizer.save_pretrained(out)
    return len(tokenizer)


def write_model(out: pathlib.Path) -> None:
    size = write_tokenizer(out)
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=size,
        hidden_size=HIDDEN,
        intermediate_size=256,
        num_hidden_layers=2,
        num_attention_heads=HEADS,
        num_key_value_heads=1,
        head_dim=HEAD,
        max_position_embeddings=CONTEXT,
        bos_token_id=MARKS.index("<s>"),
        eos_token_id=MARKS.index("<|im_end|>"),
    )
    LlamaForCausalLM(config).to(torch.bfloat16).save_pretrained(out)


def write_adapter(out: pathlib.Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(1)
    weights = {}
    for layer in range(2):
        name = f"base_model.model.model.layers.{layer}.self_attn.q_proj"
        weights[f"{name}.lora_A.weight"] = torch.randn(RANK, HIDDEN, dtype=torch.bfloat16)
        weights[f"{name}.lora_B.weight"] = torch.randn(HEADS * HEAD, RANK, dtype=torch.bfloat16)
    save_file(weights, out / "adapter_model.safetensors")
    config = {"peft_type": "LORA", "task_type": "CAUSAL_LM", "r": RANK, "lora_alpha": RANK, "target_modules": ["q_proj"]}
    (out / "adapter_config.json").write_text(json.dumps({**config, "base_model_name_or_path": "tiny", "bias": "none"}))


folder = pathlib.Path(sys.argv[1])
write_model(folder / "tiny")
write_adapter(folder / "tiny-lora")
